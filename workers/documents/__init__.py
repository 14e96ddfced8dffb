"""Documents to work on: PDFs like a firm's morning post, made here so that nothing is downloaded."""

from workers.documents.post import make_documents

__all__ = ["make_documents"]
