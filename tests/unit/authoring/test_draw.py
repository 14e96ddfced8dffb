from marie_celery.authoring.control import merge
from marie_celery.authoring.dag import dag
from marie_celery.authoring.task import task


@task(executor="extract")
def split(path):
    return [path]


@task(executor="ocr")
def read(page):
    return page


@task(executor="classify")
def label(texts, by=None):
    return "invoice"


@dag
def drawn_letter(path):
    pages = split(path)
    first, second = read(pages[0]), read(pages[1])
    return label({"first": [first]}, by=second).after(merge(first, second))


def test_a_dag_is_drawn_with_all_its_edges_and_no_server():
    picture = drawn_letter.draw("scan.pdf")
    assert picture.title == "drawn_letter"
    assert [(shape.label, shape.note) for shape in picture.shapes] == [
        ("split", "extract"),
        ("read", "ocr"),
        ("read-2", "ocr"),
        ("label", "classify"),
        ("merge", ""),
    ]
    assert picture.edges == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (4, 3)]
