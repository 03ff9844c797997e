"""Numbers as people read them."""


def figures(value: float | None, factor: float = 1) -> str:
    """Three significant figures without an exponent; "-" for what is not known."""
    if value is None:
        return "-"
    value *= factor
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
