"""ONNX graphs whose weights stay outside, one file per system, and the blocks they share."""
