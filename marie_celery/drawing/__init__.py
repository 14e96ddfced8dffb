"""Pictures of DAGs and runs: as Mermaid text, as SVG, for the terminal. Pure: no file, no server, no other program."""

from marie_celery.drawing.picture import Picture, Shape

__all__ = ["Picture", "Shape"]
