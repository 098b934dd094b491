"""The arithmetic of a small shop: prices, carts, stock, delivery, reports."""
