from marie_celery.authoring.control import branch, merge
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


@dag
def drawn_pages(path):
    pages = split(path)
    texts = read.map(pages)
    return branch(texts, lambda: label(texts))


def test_a_map_is_one_shape_and_a_path_hangs_on_its_branch():
    picture = drawn_pages.draw("scan.pdf")
    assert [(shape.label, shape.note) for shape in picture.shapes] == [
        ("split", "extract"),
        ("read", "map, ocr"),
        ("branch", ""),
        ("label", "classify"),
        ("pick", ""),
    ]
    assert picture.edges == [(0, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]


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
