"""A kitchen's larder: stock, recipes, shopping."""

from larder.items import Item
from larder.stock import Stock

__all__ = ["Item", "Stock"]
