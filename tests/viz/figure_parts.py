"""Finding artists in a figure by the names drawing gives them, and words that collide."""

from itertools import combinations
from unittest.mock import patch


def parts(figure, prefix):
    """Artists whose gid begins with `prefix`, in the order they were added."""
    return [artist for artist in figure.findobj() if str(artist.get_gid() or "").startswith(prefix)]


def words(figure):
    """All visible text of a figure."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def drawn_words(figure):
    """The texts that reach the paper, each with its box: not those of hidden axes or of ticks out of view."""
    from matplotlib.text import Text

    drawn = []
    plain = Text.draw

    def recording(text, renderer, *args, **options):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        return plain(text, renderer, *args, **options)

    with patch.object(Text, "draw", recording):
        figure.canvas.draw()
    return [(text.get_text(), text.get_window_extent()) for text in drawn]


def colliding_words(figure, *, allowance=1.0):
    """Pairs of texts whose boxes overlap by more than `allowance` pixels both ways, and texts outside the figure."""
    boxes = drawn_words(figure)
    width, height = figure.canvas.get_width_height()
    outside = [
        text
        for text, box in boxes
        if box.x0 < -allowance or box.y0 < -allowance or box.x1 > width + allowance or box.y1 > height + allowance
    ]
    pairs = []
    for (first, one), (second, other) in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        upwards = min(one.y1, other.y1) - max(one.y0, other.y0)
        if across > allowance and upwards > allowance:
            pairs.append((first, second))
    return outside + pairs
