"""A matplotlib figure as data: what a chart shows, without its looks.

The shape is fcgi/CHARTS.md's; VERSION is its version. All values come from
the artists that were drawn, none is guessed from a picture.
"""

import re

from matplotlib import collections, colors, container, image, patches
from matplotlib import dates as mdates
from matplotlib.category import StrCategoryConverter
from matplotlib.ticker import FixedFormatter, FuncFormatter

from . import mathtext
from .jsonable import loose

VERSION = 1
POINTS_MAX = 100_000
CELLS_MAX = 10_000  # of a heatmap; more is a picture
VIOLIN_POINTS_MIN = 10  # along a body
UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")


def chart_of(figure):
    """The figure's chart, or None if nothing in it is one.

    One without a type of ours, such as violins, is "unknown".
    """
    try:
        shown = [axes for axes in figure.axes
                 if axes.get_visible() and not _is_colorbar(axes)]
        charts = [_axes_chart(axes) for axes in shown]
        drawn = any(map(_is_violins, shown))
    except Exception:
        return None  # a picture without data is still a result
    if all(chart["type"] == "unknown" for chart in charts) and not drawn:
        return None
    head = {"version": VERSION, "source": "matplotlib"}
    if len(charts) == 1:
        return head | charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return head | {"type": "super", "title": loose(title),
                   "elements": charts}


def on_axes_import(module):
    """Keep the numbers of box plots, which their artists no longer have."""
    draw = module.Axes.bxp

    def bxp(self, bxpstats, positions=None, *args, **kwargs):
        artists = draw(self, bxpstats, positions, *args, **kwargs)
        boxes = self.__dict__.setdefault("_warren_boxes", [])
        at = positions
        if at is None:
            at = range(1, len(bxpstats) + 1)
        upright = (kwargs.get("vert") in (None, True)
                   and kwargs.get("orientation") != "horizontal")
        boxes.extend((stats, place, upright)
                     for stats, place in zip(bxpstats, at))
        return artists

    bxp.__doc__ = draw.__doc__
    module.Axes.bxp = bxp


def _is_colorbar(axes):
    return axes.get_label() == "<colorbar>" or hasattr(axes, "_colorbar")


def _axes_chart(axes):
    readers = (("pie", _pie), ("box", _boxes),
               ("heatmap", _heatmaps), ("bar", _bars),
               ("scatter", _scatters), ("line", _lines))
    kind, elements = "unknown", []
    for kind_name, read in () if _is_violins(axes) else readers:
        elements = read(axes)
        if elements:
            kind = kind_name
            break
    chart = {"type": kind, "title": loose(axes.get_title()),
             "x": _axis(axes, axes.xaxis), "y": _axis(axes, axes.yaxis),
             "elements": elements}
    return chart


def _is_violins(axes):
    """Mirrored shapes, and in each at most a dot and a few short lines.

    Those are no points and lines that anybody plotted.
    """
    bodies = [each for each in axes.collections
              if isinstance(each, collections.PolyCollection)]
    dots = [each for each in axes.collections
            if isinstance(each, collections.PathCollection)]
    return (bool(bodies) and all(map(_is_mirrored, bodies))
            and all(len(each.get_offsets()) < 2 for each in dots)
            and all(len(each.get_xdata(orig=False)) <= 2
                    for each in axes.lines))


def _is_mirrored(body):
    """Whether it lies between two curves around a straight line."""
    paths = body.get_paths()
    if len(paths) != 1:
        return False
    # A corner, one curve, a corner, the other back; then the first again.
    at = paths[0].vertices
    n = (len(at) - 1) // 2 - 1
    there, back = at[1:n + 1], at[n + 2:2 * n + 2][::-1]
    if n < VIOLIN_POINTS_MIN or there.shape != back.shape:
        return False
    for along in (0, 1):
        middle = (there + back)[:, 1 - along]
        if (abs(there - back)[:, along].max() == 0
                and abs(middle - middle[0]).max() <= 1e-6):
            return True
    return False


# Axes


def _axis(axes, axis):
    label = axis.get_label_text()
    unit = UNIT.search(label)
    low, high = sorted(axis.get_view_interval())
    locations = [at for at in axis.get_majorticklocs() if low <= at <= high]
    texts = axis.get_major_formatter().format_ticks(locations)
    return {"label": loose(label), "unit": unit and loose(unit.group(1)),
            "scale": _scale(axes, axis),
            "ticks": [{"value": value,
                       "label": loose(mathtext.plain(str(text)))}
                      for value, text
                      in zip(_values(axes, axis, locations), texts)]}


def _converter(axis):
    get = getattr(axis, "get_converter", None)
    return get() if get else axis.converter


def _is_date(axis):
    return "Date" in type(_converter(axis)).__name__


def _freq(axes, axis):
    """pandas plots periods as ordinals of this frequency."""
    return getattr(axes, "freq", None) if axis is axes.xaxis else None


def _scale(axes, axis):
    if isinstance(_converter(axis), StrCategoryConverter):
        return "categorical"
    if _is_date(axis) or _freq(axes, axis) is not None:
        return "datetime"
    return axis.get_scale()


def _values(axes, axis, numbers):
    """Axis positions as what the tenant plotted: dates, names, numbers."""
    scale = _scale(axes, axis)
    if scale == "categorical":
        names = {at: name for name, at in axis.units._mapping.items()}
        return [loose(names.get(at, at)) for at in numbers]
    if scale != "datetime":
        return [loose(float(at)) for at in numbers]
    freq = _freq(axes, axis)
    if freq is None:
        return [mdates.num2date(at).replace(tzinfo=None).isoformat()
                if at == at else None for at in numbers]
    import pandas
    return [pandas.Period(ordinal=int(at), freq=freq).start_time.isoformat()
            for at in numbers]


def _tick_names(axes, axis):
    """Names at positions, where the axis has names and not numbers."""
    formatter = axis.get_major_formatter()
    named = isinstance(formatter, (FixedFormatter, FuncFormatter))
    if not named and _scale(axes, axis) not in ("categorical", "datetime"):
        return []
    locations = axis.get_majorticklocs()
    if _scale(axes, axis) == "datetime":
        return []
    return list(zip(locations, formatter.format_ticks(locations)))


def _name_at(axes, axis, at):
    names = _tick_names(axes, axis)
    if names:
        near, name = min(names, key=lambda pair: abs(pair[0] - at))
        if name and abs(near - at) < 0.5:
            return loose(str(name))
    value = _values(axes, axis, [at])[0]
    return f"{value:g}" if isinstance(value, float) else value


# Labels


def _legend(axes):
    """Colour to text, as the legend has it."""
    legend = axes.get_legend()
    if legend is None:
        return {}
    handles = getattr(legend, "legend_handles", None)
    if handles is None:
        handles = legend.legendHandles
    return {_colour(handle): text.get_text()
            for handle, text in zip(handles, legend.get_texts())}


def _colour(artist):
    get = getattr(artist, "get_facecolor", None) or artist.get_color
    colour = get()
    if hasattr(colour, "ndim") and colour.ndim == 2:
        if not len(colour):
            return None
        colour = colour[0]
    try:
        return colors.to_hex(colour)
    except ValueError:
        return None


def _label(artist, legend):
    text = str(artist.get_label() or "")
    if text and not text.startswith("_"):
        return loose(text)
    return loose(legend.get(_colour(artist)))


# Elements


def _points(axes, xs, ys):
    return [list(pair) for pair in zip(_values(axes, axes.xaxis, xs),
                                       _values(axes, axes.yaxis, ys))]


def _lines(axes):
    legend = _legend(axes)
    elements = []
    for line in axes.lines:
        xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
        if not len(xs) or line.get_transform() != axes.transData:
            continue  # a legend's stand-in, or a guide such as axhline
        if len(xs) > POINTS_MAX:
            return []
        elements.append({"label": _label(line, legend),
                         "points": _points(axes, xs, ys)})
    return elements


def _scatters(axes):
    legend = _legend(axes)
    elements = []
    for dots in axes.collections:
        if not isinstance(dots, collections.PathCollection):
            continue
        places = dots.get_offsets()
        if not len(places):
            continue
        if len(places) > POINTS_MAX:
            return []
        elements.extend(_split_by_colour(axes, dots, places, legend))
    return elements


def _split_by_colour(axes, dots, places, legend):
    """One element, or one for each colour that the legend names."""
    points = _points(axes, places[:, 0], places[:, 1])
    faces = dots.get_facecolors()
    names = [None]
    if len(faces) == len(places) and legend:
        names = [legend.get(colors.to_hex(face)) for face in faces]
    if len(set(names)) < 2:
        return [{"label": _label(dots, legend), "points": points}]
    groups = {}
    for name, point in zip(names, points):
        groups.setdefault(name, []).append(point)
    return [{"label": loose(name), "points": group}
            for name, group in groups.items()]


def _bars(axes):
    legend = _legend(axes)
    elements = []
    for bars in axes.containers:
        if not isinstance(bars, container.BarContainer) or not len(bars):
            continue
        group = str(bars.get_label() or "")
        if not group or group.startswith("_"):
            group = legend.get(_colour(bars[0]))
        flat = getattr(bars, "orientation", None) == "horizontal"
        for bar in bars:
            if flat:
                at, value = bar.get_y() + bar.get_height() / 2, bar.get_width()
            else:
                at, value = bar.get_x() + bar.get_width() / 2, bar.get_height()
            axis = axes.yaxis if flat else axes.xaxis
            elements.append({"label": _name_at(axes, axis, at),
                             "value": loose(float(value)),
                             "group": loose(group)})
    return elements


def _pie(axes):
    return [{"label": loose(_hide(wedge.get_label())),
             "angle": float(wedge.theta2 - wedge.theta1),
             "radius": float(wedge.r)}
            for wedge in axes.patches if isinstance(wedge, patches.Wedge)]


def _hide(label):
    return "" if str(label).startswith("_") else str(label)


def _boxes(axes):
    elements = []
    for stats, place, upright in getattr(axes, "_warren_boxes", ()):
        axis = axes.xaxis if upright else axes.yaxis
        elements.append({
            "label": _name_at(axes, axis, float(place)),
            "min": loose(stats["whislo"]), "q1": loose(stats["q1"]),
            "median": loose(stats["med"]), "q3": loose(stats["q3"]),
            "max": loose(stats["whishi"]),
            "outliers": [loose(each) for each in stats.get("fliers", ())]})
    return elements


def _heatmaps(axes):
    """Meshes and images of numbers; an image of colours is a picture."""
    elements = []
    for each in (*axes.collections, *axes.images):
        if isinstance(each, collections.QuadMesh):
            grid = _mesh_grid(each)
        elif isinstance(each, image.AxesImage):
            grid = _image_grid(each)
        else:
            continue
        if grid is not None and grid[2].size <= CELLS_MAX:
            elements.append(_heatmap(axes, each, *grid))
    return elements


def _mesh_grid(mesh):
    """Middles of columns and rows, and the values; None if it is none."""
    corners = mesh._coordinates
    rows, columns = corners.shape[0] - 1, corners.shape[1] - 1
    values = mesh.get_array()
    if values is None or values.size != rows * columns:
        return None
    xs, ys = corners[0, :, 0], corners[:, 0, 1]
    return ((xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2,
            values.reshape(rows, columns))


def _image_grid(shown):
    values = shown.get_array()
    if values is None or values.ndim != 2:
        return None
    rows, columns = values.shape
    left, right, bottom, top = shown.get_extent()
    first, last = (top, bottom) if shown.origin == "upper" else (bottom, top)
    return ([left + (at + 0.5) * (right - left) / columns
             for at in range(columns)],
            [first + (at + 0.5) * (last - first) / rows
             for at in range(rows)], values)


def _heatmap(axes, artist, xs, ys, values):
    bar = artist.colorbar
    label = bar and (bar.ax.get_ylabel() or bar.ax.get_xlabel())
    unit = UNIT.search(label or "")
    return {"label": loose(label or None), "unit": unit and
            loose(unit.group(1)),
            "x": [_name_at(axes, axes.xaxis, float(at)) for at in xs],
            "y": [_name_at(axes, axes.yaxis, float(at)) for at in ys],
            "values": [[None if value is None else loose(float(value))
                        for value in row] for row in values.tolist()]}
