import datetime
import io
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

from larder import Item, Stock
from larder.cli import main
from larder.prices import PriceBook
from larder.recipes import Recipe, missing, possible
from larder.report import report
from larder.shopping import lines, shopping
from larder.storage import dump, load, read, write

PANCAKES = Recipe("pancakes", {"egg": 3, "flour": 1})
OMELETTE = Recipe("omelette", {"egg": 4})


def larder() -> Stock:
    return Stock([Item("egg", 5), Item("flour", 2, "kg", datetime.date(2024, 5, 2))])


class KitchenTest(unittest.TestCase):
    def test_recipes(self) -> None:
        self.assertEqual(possible([PANCAKES, OMELETTE], larder()), [PANCAKES, OMELETTE])
        self.assertEqual(missing(Recipe("cake", {"egg": 6}), larder()), {"egg": 1})

    def test_shopping(self) -> None:
        wanted = shopping([PANCAKES, OMELETTE], larder(), {"salt": 1})
        self.assertEqual(wanted, {"salt": 1, "egg": 2})
        self.assertEqual(lines(wanted), ["2 egg", "1 salt"])

    def test_prices(self) -> None:
        book = PriceBook()
        book.note("egg", "corner", 30)
        book.note("egg", "market", 25)
        self.assertEqual(book.cheapest("egg"), (25, "market"))
        self.assertEqual(book.total({"egg": 4}), 100)
        self.assertIsNone(book.total({"caviar": 1}))

    def test_storage(self) -> None:
        self.assertEqual(dump(load(dump(larder()))), dump(larder()))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stock.json"
            write(path, larder())
            self.assertEqual(len(read(path)), 2)
            out = io.StringIO()
            with redirect_stdout(out):
                self.assertEqual(main([str(path), "find", "eg"]), 0)
            self.assertEqual(out.getvalue(), "egg\n")

    def test_report(self) -> None:
        text = report(larder(), datetime.date(2024, 5, 1))
        self.assertIn("5 piece  egg", text)
        self.assertIn("flour (1 days)", text)

    def test_usage(self) -> None:
        self.assertEqual(main([]), 2)
