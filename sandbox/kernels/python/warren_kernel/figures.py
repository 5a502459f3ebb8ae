"""matplotlib's figures as results: each once, in order, as a picture."""

import io
import os
import sys

BACKEND = "module://warren_kernel.backend"
# What asks for a window, or for no picture at all, gets ours.
REPLACED = {"agg", "inline", "notebook", "nbagg", "ipympl", "widget",
            "module://matplotlib_inline.backend_inline", "tkagg", "tkcairo",
            "qtagg", "qt4agg", "qt5agg", "qt6agg", "qtcairo", "gtk3agg",
            "gtk4agg", "gtk3cairo", "gtk4cairo", "wxagg", "wx", "macosx",
            "webagg"}
# Where a text's own font lacks a character. Only what is installed counts.
FALLBACK_FONTS = ("WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
                  "Noto Sans CJK SC", "Noto Sans CJK JP")
FONT_CACHE = os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "cache")


class Figures:
    """The open figures of pyplot, as the run's results."""

    def __init__(self, display):
        self._display = display
        self._shown = set()
        display.figures = self

    def on_import(self, matplotlib):
        """Make ours the backend before pyplot chooses one."""
        wanted = os.environ.get("MPLBACKEND", "").lower()
        if not wanted or wanted in REPLACED:
            matplotlib.rcParams["backend"] = BACKEND
        use = matplotlib.use

        def use_unless_replaced(backend, *, force=True):
            if str(backend).lower() in REPLACED:
                backend = BACKEND
            use(backend, force=force)

        use_unless_replaced.__doc__ = use.__doc__
        matplotlib.use = use_unless_replaced
        try:
            _give_font_cache(matplotlib.get_cachedir())
        except OSError:
            pass  # matplotlib makes its own, slowly

    def owns(self, value):
        module = sys.modules.get("matplotlib.figure")
        return module is not None and isinstance(value, module.Figure)

    def parts(self, figure, data):
        """Put the picture into data; the chart is what is returned."""
        from .chart import chart_of
        data.setdefault("text/plain", repr(figure))
        data.setdefault("image/png", png(figure))
        chart = chart_of(figure)
        return {} if chart is None else {"chart": chart}

    def mark_shown(self, figure):
        self._shown.add(id(figure))

    def flush(self):
        """Send the open figures that were not shown yet, and close all."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return
        managers = helpers.Gcf.get_all_fig_managers()
        for manager in sorted(managers, key=lambda each: each.num):
            self.close(manager, helpers.Gcf)
        self._shown.clear()

    def close(self, manager, gcf):
        figure = manager.canvas.figure
        gcf.destroy(manager)
        if id(figure) not in self._shown and not _is_empty(figure):
            data = {}
            extra = self.parts(figure, data)
            self._display.publish(data, extra)


def on_fonts(module):
    """Let each text have the fallback fonts, whatever its own one is."""
    find = getattr(module.FontManager, "_find_fonts_by_props", None)
    if find is None:
        return  # an older matplotlib knows no fallback

    def find_fonts(self, *args, **kwargs):
        paths = find(self, *args, **kwargs)
        more = {font.name: font.fname for font in self.ttflist
                if font.name in FALLBACK_FONTS}
        return paths + [more[name] for name in FALLBACK_FONTS
                        if name in more and more[name] not in paths]

    module.FontManager._find_fonts_by_props = find_fonts


def png(figure):
    """figure as PNG bytes, with nothing cut off at its edges."""
    import warnings
    out = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        figure.canvas.print_figure(
            out, format="png", dpi=figure.dpi, bbox_inches="tight",
            facecolor=figure.get_facecolor(),
            edgecolor=figure.get_edgecolor())
    # They would name a line of ours, which the tenant never wrote.
    for text, kind in dict.fromkeys((str(each.message), each.category)
                                    for each in caught):
        warnings.showwarning(text, kind, "<figure>", 0)
    return out.getvalue()


def _is_empty(figure):
    return not (figure.axes or figure.lines or figure.patches
                or figure.texts or figure.images or figure.artists)


def _give_font_cache(cachedir):
    """Copy the image's list of fonts: to make one takes seconds."""
    import shutil
    for name in os.listdir(FONT_CACHE):
        target = os.path.join(cachedir, name)
        if name.startswith("fontlist") and not os.path.exists(target):
            shutil.copyfile(os.path.join(FONT_CACHE, name), target)
