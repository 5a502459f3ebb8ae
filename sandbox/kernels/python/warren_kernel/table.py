"""A pandas DataFrame as data: columns, index, rows."""

import sys

from .jsonable import loose

CELLS_MAX = 100_000


def table_of(obj):
    """obj as a table if it is a DataFrame, else None.

    Above CELLS_MAX cells the first rows are sent, and total_rows says how
    many there are.
    """
    pandas = sys.modules.get("pandas")
    frame_type = getattr(pandas, "DataFrame", None)
    if frame_type is None or not isinstance(obj, frame_type):
        return None
    keep = max(1, CELLS_MAX // max(1, len(obj.columns)))
    frame = obj.iloc[:keep]
    table = {
        "columns": [loose(label) for label in frame.columns],
        "index": [loose(label) for label in frame.index],
        "index_names": [loose(name) for name in frame.index.names],
        "rows": [[loose(value) for value in row]
                 for row in frame.itertuples(index=False, name=None)],
    }
    if len(obj) > keep:
        table["total_rows"] = len(obj)
    return table
