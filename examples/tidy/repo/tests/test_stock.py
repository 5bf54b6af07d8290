import datetime
import unittest

from larder import Item, Stock
from larder.expiry import by_week, expiring
from larder.search import all_tags, by_name, by_tag
from larder.units import base_unit, normalise

TODAY = datetime.date(2024, 5, 1)


def larder() -> Stock:
    return Stock(
        [
            Item("milk", 1, "l", datetime.date(2024, 5, 3), ["drink", "cold"]),
            Item("flour", 2, "kg", datetime.date(2025, 1, 1), ["dry"]),
            Item("egg", 6),
        ]
    )


class StockTest(unittest.TestCase):
    def test_equal_names_are_added_up(self) -> None:
        stock = larder()
        stock.add(Item("egg", 4))
        self.assertEqual(stock.get("egg").amount, 10)
        self.assertEqual(len(stock), 3)

    def test_units_are_not_mixed(self) -> None:
        with self.assertRaises(ValueError):
            larder().add(Item("milk", 500, "ml"))

    def test_take(self) -> None:
        stock = larder()
        self.assertIsNone(stock.take("egg", 7))
        self.assertEqual(stock.take("egg", 6).amount, 6)
        self.assertIsNone(stock.get("egg"))

    def test_units(self) -> None:
        self.assertEqual(normalise(2, "kg"), (2000, "g"))
        self.assertEqual(base_unit("l"), "ml")
        self.assertIsNone(base_unit("inch"))
        with self.assertRaises(ValueError):
            normalise(1, "inch")

    def test_expiring(self) -> None:
        self.assertEqual([(left, item.name) for left, item in expiring(larder(), TODAY)], [(2, "milk")])
        self.assertEqual(by_week(larder(), TODAY), {0: ["milk"], 35: ["flour"]})

    def test_search(self) -> None:
        self.assertEqual([item.name for item in by_tag(larder(), {"cold"})], ["milk"])
        self.assertEqual([item.name for item in by_name(larder(), "L")], ["flour", "milk"])
        self.assertEqual(all_tags(larder()), {"drink", "cold", "dry"})
