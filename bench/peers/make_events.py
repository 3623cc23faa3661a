"""Writes two TensorBoard events with TensorBoard's own code: crates/train/tests/golden/events.hex.

    pip install tensorboard==2.21.0
    python bench/peers/make_events.py crates/train/tests/golden/events.hex
"""

import io
import pathlib
import sys

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

if len(sys.argv) != 2:
    sys.exit(__doc__)
numbers = {
    "epoch": 1.5, "loss": 0.25, "learning_rate": 0.001, "gradient_norm": 3.0, "lists_without_gradient": 2.0, "valid/ndcg@10": 0.5,
}
summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in numbers.items()])
out = io.BytesIO()
writer = RecordWriter(out)
writer.write(Event(wall_time=1_700_000_000.5, file_version="brain.Event:2").SerializeToString())
writer.write(Event(wall_time=1_700_000_001.25, step=300, summary=summary).SerializeToString())
pathlib.Path(sys.argv[1]).write_text(out.getvalue().hex() + "\n")
