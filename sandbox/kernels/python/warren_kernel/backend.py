"""The matplotlib backend: draws with Agg, shows by sending results."""

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase, _Backend
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import kernel


class FigureManager(FigureManagerBase):
    def show(self):
        """fig.show(): this figure now."""
        kernel.current().figures.close(self, Gcf)


FigureCanvas = FigureCanvasAgg


@_Backend.export
class _BackendWarren(_Backend):
    FigureCanvas = FigureCanvas
    FigureManager = FigureManager

    @staticmethod
    def show(*args, **kwargs):
        """plt.show(): all open figures now."""
        kernel.current().figures.flush()
