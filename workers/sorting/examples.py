"""What the classifier learns from: a handful of sentences per class, in the words of such documents."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "invoice": (
        "Invoice number and invoice date as below, bill to the customer, payment due within 14 days",
        "We invoice you for the following items: description, qty, unit price, amount",
        "Net amount, plus VAT at 19 %, gives the total due in EUR",
        "Please transfer the invoice amount to our bank account within 30 days of the invoice date",
        "Quote the invoice number with your payment; overdue invoices bear interest",
        "From the supplier, bill to the buyer: paper, toner, shelf, lamp, cartridge, box, quantity, unit",
    ),
    "letter": (
        "Dear Madam, thank you for your kind letter, I was glad to hear from you",
        "I hope that you and your family are well and send my warm regards",
        "Please let me know when it would suit you; I shall gladly come to see you",
        "I am sorry to write so late, we were away and I often think of your visit",
        "Ring me any evening if this note is not clear. Yours sincerely, with best wishes",
        "We hope to see you soon and thank you for the invitation, yours faithfully, dear friends",
    ),
    "contract": (
        "This agreement is made between the client and the contractor, the parties hereto",
        "For all services of the contractor the client shall pay a fee as agreed in the annex",
        "Either party may terminate this agreement by written notice",
        "The parties shall keep information confidential; liability is limited as set out hereunder",
        "Governing law and jurisdiction, severability of provisions, assignment with prior written consent",
        "In witness whereof the parties have signed; obligations, term, clause, dispute, courts",
    ),
    "receipt": (
        "Till 2 cashier, 1 x coffee, 2 x croissant, total EUR, paid by card",
        "Goods can be returned with this receipt; we thank you for your visit to our shop",
        "Cash given, change 0.00, paid, card ending, terminal, till",
        "1 x sandwich 3 x juice total paid by cash change",
        "Receipt, cashier, shop, toast, tea, white bread, sold at till 4",
    ),
}
