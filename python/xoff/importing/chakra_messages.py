"""The messages of a Chakra trace for the library protobuf.

Source: MLCommons Chakra, ``schema/protobuf/et_def.proto``: the numbers of the fields that the importer reads. A reader
skips other fields.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "xoff.chakra"
# The kinds of values of an attribute, and their field numbers.
_VALUES = {
    "double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint32": 15, "sint64": 17,
    "fixed32": 19, "fixed64": 21, "sfixed32": 23, "sfixed64": 25, "bool": 27, "string": 29, "bytes": 31,
}  # fmt: skip


def _messages() -> tuple[Any, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="xoff/chakra.proto", package=_PACKAGE, syntax="proto3")

    def add(message: Any, name: str, number: int, kind: str, *, repeated: bool = False, of: str = "") -> Any:
        label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        made = message.field.add(name=name, number=number, label=label, type=getattr(_Field, f"TYPE_{kind.upper()}"))
        if of:
            made.type_name = f".{_PACKAGE}.{of}"
        return made

    attribute = file.message_type.add(name="Attribute")
    add(attribute, "name", 1, "string")
    attribute.oneof_decl.add(name="value")
    for kind, number in _VALUES.items():
        add(attribute, f"{kind}_val", number, kind).oneof_index = 0
    # Only the presence of a list is read.
    listed = file.message_type.add(name="Bools")
    add(listed, "values", 1, "bool", repeated=True)
    add(attribute, "bool_list", 28, "message", of="Bools").oneof_index = 0
    metadata = file.message_type.add(name="Metadata")
    add(metadata, "version", 1, "string")
    add(metadata, "attr", 2, "message", repeated=True, of="Attribute")
    node = file.message_type.add(name="Node")
    add(node, "id", 1, "uint64")
    add(node, "name", 2, "string")
    add(node, "type", 3, "int32")
    add(node, "ctrl_deps", 4, "uint64", repeated=True)
    add(node, "data_deps", 5, "uint64", repeated=True)
    add(node, "duration_micros", 7, "uint64")
    add(node, "attr", 10, "message", repeated=True, of="Attribute")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in ("Metadata", "Node"))
    first, second = (message_factory.GetMessageClass(one) for one in found)
    return first, second


METADATA, NODE = _messages()
"""The message classes."""
