"""Writing DAGs: `@task`, `@dag`, references, and the way from a Python function to a submission."""
