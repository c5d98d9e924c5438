"""The words of a figure, which tests read without the time that matplotlib takes to draw it."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from matplotlib.backend_bases import FigureCanvasBase


def words_in_place(canvas: FigureCanvasBase, file: IO[str], **_: object) -> None:
    """Write the titles, labels, legends and named ticks of a figure as an SVG file."""
    from matplotlib.ticker import FixedFormatter

    figure = canvas.figure
    texts, named = list(figure.texts), []
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        formatters = [axis.get_major_formatter() for axis in (axes.xaxis, axes.yaxis)]
        named += [word for one in formatters if isinstance(one, FixedFormatter) for word in one.seq]
    for legend in [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]:
        texts += [legend.get_title(), *legend.get_texts()]
    words = filter(None, [text.get_text() for text in texts] + named)
    file.write("<svg>" + "".join(f"<text>{escape(word)}</text>" for word in words) + "</svg>")
