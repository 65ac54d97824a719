"""The rules of every store, written once over a few row primitives, so that no two stores can
differ."""
