"""The names, goods and sentences that the writers choose from; prices in cents."""

FIRMS = (
    "Harbour Light Trading Ltd",
    "Quince & Daughters",
    "Northfield Paper Mill",
    "Brindle Logistics GmbH",
    "Copperbeech Catering",
    "Ostrava Machine Works",
    "Tidewater Printing Co",
    "Marlow Garden Supply",
)
PEOPLE = ("Ada Winterborne", "Jonas Feld", "Priya Raman", "Tomas Okafor", "Helen Marsh", "Luc Bernard")
GOODS = (
    ("Copy paper A4, box", 2150),
    ("Toner cartridge black", 7890),
    ("Desk lamp, brass", 4425),
    ("Hole punch, heavy", 1999),
    ("Oak shelf 120 cm", 12900),
    ("Packing tape, 6 rolls", 1140),
    ("Espresso beans 1 kg", 1875),
)
SNACKS = (("Flat white", 340), ("Almond croissant", 290), ("Orange juice", 410), ("Cheese toast", 625))
MATTERS = (
    "the broken window in your reading room",
    "my visit to your showroom last week",
    "the summer fair and the stand you kindly offered us",
    "the apprenticeship that your daughter asked about",
)
REMARKS = (
    "It was a pleasure to speak with you, and everybody here sends warm regards.",
    "I am sorry that my answer took so long; the whole family was ill in spring.",
    "Please let me know which afternoon would suit you, and I shall gladly come by.",
    "We often think of the evening at your house and hope to return the invitation soon.",
    "If anything in this note is unclear, do not hesitate to call me at home.",
)
CLAUSES = (
    (
        "Term",
        "This agreement begins on the date above and continues for {months} months. "
        "Either party may terminate it in writing with thirty days' notice.",
    ),
    (
        "Confidentiality",
        "Each party shall keep confidential all information received from the other party "
        "and shall use it only to perform its obligations hereunder.",
    ),
    (
        "Liability",
        "Neither party shall be liable for indirect damages. The aggregate liability of a party "
        "is limited to the fees paid in the preceding year.",
    ),
    (
        "Governing law",
        "This agreement is governed by the law of the place of the Client's seat, "
        "whose courts have exclusive jurisdiction over any dispute.",
    ),
    (
        "Assignment",
        "No party may assign its rights or obligations under this agreement "
        "without the prior written consent of the other party.",
    ),
    (
        "Severability",
        "Should a provision be held invalid, the remaining provisions shall stay in force "
        "and the parties shall replace the invalid one in good faith.",
    ),
)
