"""Quantiles and tails of distributions: scipy's, which is loaded at the first question.

Loading it takes longer than all else that a command does when there is nothing to do, and few commands need it.
"""


def student_quantile(freedom: float, probability: float) -> float:
    """Where Student's t distribution has `probability` below it."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def student_tails(freedom: float, t: float) -> float:
    """How probable a |t| at least as large is, both tails together."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


def beta_quantile(a: float, b: float, probability: float) -> float:
    """Where the beta distribution has `probability` below it."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))


def normal_quantile(probability: float) -> float:
    """Where the standard normal distribution has `probability` below it."""
    from scipy.special import ndtri

    return float(ndtri(probability))
