"""Read by mypy in a test; each line with a remark is what it has to say there."""

from typing import reveal_type

from marie_celery import dag, task


@task(executor="extract")
def split(path: str) -> list[str]:
    return [path]


@task(executor="ocr")
async def read(page: str) -> int:
    return len(page)


@dag
def wired(path: str) -> int:
    pages = split(path)
    reveal_type(pages)  # Revealed type is "list[str]"
    reveal_type(pages[0])  # Revealed type is "str"
    reveal_type(read(pages[0]))  # Revealed type is "int"
    split(1)  # Argument 1 to "__call__" of "Task" has incompatible type "int"; expected "str"
    split()  # Missing positional argument "path" in call to "__call__" of "Task"
    return read(pages)  # Argument 1 to "__call__" of "Task" has incompatible type "list[str]"; expected "str"
