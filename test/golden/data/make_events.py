"""An event file as TensorBoard's own classes write it: events.tfevents. Needs tensorboard 2.21 and protobuf.

Run: python make_events.py
"""
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

EVENTS = [
    (0, {"eval/em": 0.25}),
    (1, {"reward/mean": 0.5, "policy/kl": -1.25e-7, "tokens": 123456789.0}),
    (300, {"reward/mean/größe": 1e30}),
    (70000, {}),
]

with open(Path(__file__).with_name("events.tfevents"), "wb") as file:
    writer = RecordWriter(file)
    writer.write(Event(wall_time=1700000000.5, file_version="brain.Event:2").SerializeToString())
    for i, (step, values) in enumerate(EVENTS):
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        writer.write(Event(wall_time=1700000001.5 + i, step=step, summary=summary).SerializeToString())
