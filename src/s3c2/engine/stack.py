"""Many replicas of one network, trained as one.

A Stack holds E networks of the same shape with every parameter stacked along a leading dimension:
batches go in as (E, rows, …) and come out as (E, rows, …). A dense network runs as batched matrix
products, which on the CPU give each replica the very bits it would get alone; convolutions run as
kernels of their own on a GPU. Batch normalisation is over each replica's own rows. One replica may
be a module of any kind; networks that do not run as a stack are trained one after another.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeGuard

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from s3c2.engine.convolution import Layer, convolve, is_convolution
from s3c2.engine.dropout import Dropout
from s3c2.engine.kernels.products import is_faster
from s3c2.engine.kernels.steps import has_kernels, keys_from
from s3c2.engine.linear import half_linear, linear
from s3c2.engine.randomness import Purpose, derived_seed, dropout_masks
from s3c2.engine.ranks import bounds, n_ranks, of_all_shares, own_share

_ELEMENTWISE = (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.Identity)


class Stack(nn.Module):
    """E replicas of a network.

    Parameters
    ----------
    networks : modules of the same architecture, one for each replica; their weights are copied
    precision : "float32", or "bf16" for matrix products in bfloat16 on a GPU
    """

    def __init__(self, networks: Sequence[nn.Module], precision: str = "float32") -> None:
        super().__init__()
        self.precision = precision
        self._learning = True  # whether a pass may give the weights a gradient
        shapes = [{k: v.shape for k, v in n.state_dict().items()} for n in networks]
        for number, other in enumerate(shapes):
            if other != shapes[0]:
                name = next(k for k in {**shapes[0], **other} if shapes[0].get(k) != other.get(k))
                raise ValueError(
                    "Replicas of a stack must have the same shapes: "
                    f"'{name}' is {_shape(shapes[0].get(name))} in replica 0 and "
                    f"{_shape(other.get(name))} in replica {number}. Train them in two stacks."
                )
        self.n = len(networks)
        # In a list the template's own parameters are not this module's.
        self._template = [copy.deepcopy(networks[0])]
        self.layers_that_drop = [
            layer
            for layer in self._template[0].modules()
            if isinstance(layer, Dropout) and layer.rate > 0
        ]
        if self.n == 1:
            self.only = self._template[0]
            return
        if not is_sequence(networks[0]):
            raise ValueError(
                "Only sequences of dense, convolutional and batch normalisation layers run as a "
                "stack; train others one by one."
            )
        parameters = [dict(n.named_parameters()) for n in networks]
        self._names = list(parameters[0])
        self.stacked = nn.ParameterList(
            [nn.Parameter(_stacked([p[name].detach() for p in parameters])) for name in self._names]
        )
        buffers = [dict(n.named_buffers()) for n in networks]
        self._buffer_names = list(buffers[0])
        for i, name in enumerate(self._buffer_names):
            self.register_buffer(f"buffer_{i}", _stacked([b[name] for b in buffers]))

    def forward(self, x: Tensor) -> Tensor:
        """(replicas, rows, …) → (replicas, rows, …), float32."""
        if self.training and n_ranks() > 1:
            with self._dropout_of_share(x.shape[1]):
                share = self._forward(own_share(x))
            return of_all_shares(share, x.shape[1])
        return self._forward(x)

    def _forward(self, x: Tensor) -> Tensor:
        half = self.precision == "bf16" and x.device.type == "cuda"
        # Without its cache: a captured step must cast the weights of the moment.
        with torch.autocast(x.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
            if self._is_run_by_layer(x.device):
                return self._layer_by_layer(x).float()
            out: Tensor = self._template[0](x[0])
            return out.unsqueeze(0).float()

    def _is_run_by_layer(self, device: torch.device) -> bool:
        """Whether the layers run one by one here, rather than as a module."""
        if self.n > 1:
            return True
        if device.type == "cuda":
            return runs_stacked(self._template[0], device)
        return device.type == "cpu" and has_faster_products(self._template[0])

    def _layer_by_layer(self, x: Tensor) -> Tensor:
        weights = self._state()
        layers = list(self._template[0].named_children())
        while layers:
            (name, layer), *rest = layers
            following = [one for _, one in rest[:2]]
            block = Layer.first_of(layers, x.shape[3:]) if x.ndim == 5 else None
            if block is not None:
                of = f"{block.name}."
                x = convolve(x, weights[of + "weight"], weights[of + "bias"], block)
                layers = layers[block.length :]
            elif isinstance(layer, nn.Linear):
                each, x = x.shape[1:-1], x.flatten(1, -2)  # it takes the last dimension alone
                weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
                relu = bool(following) and type(following[0]) is nn.ReLU
                dropout = _laid_in(following[1]) if relu and len(following) == 2 else None
                if dropout is not None and dropout.keys is not None:
                    x = dropout.of_relu(linear(x, weight), bias)
                elif dropout is None and x.is_cuda and torch.is_autocast_enabled("cuda"):
                    x = half_linear(x, weight, bias, relu)
                else:
                    x = linear(x, weight, bias, relu, None if dropout is None else dropout.mask)
                x = x.reshape(len(x), *each, weight.shape[1])
                layers = rest[relu + (dropout is not None) :]
            else:
                x = _apply(name, layer, weights, x)
                layers = rest
        return x

    def _state(self) -> dict[str, Tensor]:
        """All replicas' parameters and buffers by their names in the network."""
        if self.n == 1:
            network = self._template[0]
            named = [*network.named_parameters(), *network.named_buffers()]
            state = {name: one.unsqueeze(0) for name, one in named}
        else:
            names = [*self._names, *self._buffer_names]
            state = dict(zip(names, [*self.stacked, *self.buffers()]))
        return state if self._learning else {name: one.detach() for name, one in state.items()}

    def hidden_weights(self) -> list[Tensor]:
        """The weights of all layers but the last, without biases: (replicas, …) each."""
        # A vector of a replica is a bias, or belongs to a normalisation.
        return [weights for weights in self._state().values() if weights.ndim > 2][:-1]

    def lay_dropout(self, rows: int, seeds: Sequence[int], step: int | Tensor) -> None:
        """Lay in the dropout of one step, each replica's from its own seed."""
        layers = self.layers_that_drop
        if isinstance(step, Tensor):
            for part, layer in enumerate(layers):
                if layer.keys is None:
                    keys = [derived_seed(seed, Purpose.DROPOUT, part) for seed in seeds]
                    layer.keys = (torch.tensor(keys, device=step.device), step)
            return
        sizes = [rows * math.prod(layer.size) for layer in layers]
        rates = [layer.rate for layer in layers]
        masks = [np.empty((self.n, size), np.float32) for size in sizes]
        for r, seed in enumerate(seeds):
            dropout_masks(sizes, rates, seed, step, [mask[r] for mask in masks])
        replicas = (self.n,) if self._is_run_by_layer(torch.device("cpu")) else ()
        for layer, mask in zip(layers, masks):
            layer.mask = torch.from_numpy(mask).view(*replicas, rows, *layer.size)

    @contextmanager
    def _dropout_of_share(self, rows: int) -> Iterator[None]:
        """Of the dropout that was laid in for all rows of a batch, that of this rank's rows."""
        start, stop, _ = bounds(rows)
        laid = [(layer, layer.mask, layer.keys) for layer in self.layers_that_drop]
        for layer, mask, keys in laid:
            if mask is not None:
                axis = mask.ndim - len(layer.size) - 1
                layer.mask = mask.narrow(axis, start, stop - start)
            if keys is not None:
                layer.keys = keys_from(keys[0], start * math.prod(layer.size)), keys[1]
        try:
            yield
        finally:
            for layer, mask, keys in laid:
                layer.mask, layer.keys = mask, keys

    def without_dropout(self, x: Tensor, learning: bool = True) -> Tensor:
        """One pass in which nothing is dropped; what was laid in is laid in again.

        Without ``learning`` a stack spares the gradients of its weights.
        """
        laid = [(layer, layer.mask, layer.keys, layer.training) for layer in self.layers_that_drop]
        for layer, *_ in laid:
            layer.clear()
            layer.eval()
        self._learning = learning
        out: Tensor = self(x)
        self._learning = True
        for layer, mask, keys, training in laid:
            layer.mask, layer.keys = mask, keys
            layer.train(training)
        return out

    def clear_dropout(self) -> None:
        """Give the Dropout layers back their ordinary behaviour."""
        for layer in self.layers_that_drop:
            layer.clear()

    def train(self, mode: bool = True) -> Stack:
        super().train(mode)
        self._template[0].train(mode)
        return self

    def network(self, r: int) -> nn.Module:
        """Replica r as an ordinary module, in evaluation mode."""
        laid = [(layer, layer.mask, layer.keys) for layer in self.layers_that_drop]
        self.clear_dropout()
        network = copy.deepcopy(self._template[0])
        if self.n > 1:
            network.load_state_dict({name: one[r] for name, one in self._state().items()})
        for layer, mask, keys in laid:  # a captured step may go on reading them
            layer.mask, layer.keys = mask, keys
        return network.eval()

    def fewer(self, numbers: Sequence[int]) -> Stack:
        """A stack of these replicas alone."""
        device = next(self.parameters()).device
        return Stack([self.network(r) for r in numbers], self.precision).to(device)


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """Tensors of all replicas as one; a network that was trained alone may lie on a GPU."""
    return torch.stack([part.to(parts[0].device) for part in parts])


def is_dense(network: nn.Module) -> bool:
    """Whether a network is a sequence of layers that run as batched matrix products."""
    return is_sequence(network) and not any(map(_is_spatial, network.children()))


def is_sequence(network: nn.Module) -> bool:
    """Whether a network is a sequence of dense and convolutional layers, each in one place, that
    do nothing but what their kind does.
    """
    all_names = list(network.named_parameters(remove_duplicate=False))
    return (
        type(network) is nn.Sequential
        and len(set(network)) == len(network)
        and len(set(network.parameters())) == len(all_names)  # no weights in two layers
        and not any(map(_has_hooks, (network, *network)))
        and all(map(_is_usual, network))
    )


def _has_hooks(layer: nn.Module) -> bool:
    """Whether somebody is told when the layer runs, who may change what it gives."""
    return bool(layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks)


def _is_usual(layer: nn.Module) -> bool:
    """Whether a layer is of a known kind, in the usual form."""
    if type(layer) not in (nn.Linear, nn.Softmax, nn.Flatten, nn.Unflatten, Dropout, *_ELEMENTWISE):
        return _is_spatial(layer) or _is_normalisation(layer)
    if isinstance(layer, nn.Softmax):
        return layer.dim == -1
    if isinstance(layer, nn.Flatten):
        return layer.start_dim == 1 and layer.end_dim == -1
    if isinstance(layer, nn.Unflatten):
        return layer.dim == 1
    return getattr(layer, "bias", True) is not None


def _is_normalisation(layer: nn.Module) -> TypeGuard[nn.BatchNorm1d | nn.BatchNorm2d]:
    return (
        type(layer) in (nn.BatchNorm1d, nn.BatchNorm2d)
        and bool(layer.affine and layer.track_running_stats)
        and layer.momentum is not None
    )


def _is_spatial(layer: nn.Module) -> bool:
    return is_convolution(layer) or type(layer) in (nn.MaxPool2d, nn.Upsample)


def runs_stacked(network: nn.Module, device: torch.device) -> bool:
    """Whether replicas of a network run as one there."""
    if is_dense(network):
        return True
    return device.type == "cuda" and has_kernels() and is_sequence(network)


def has_faster_products(network: nn.Module) -> bool:
    """Whether a network runs faster on the CPU as a stack of one than by itself."""
    return is_faster() and is_dense(network)


def _laid_in(layer: nn.Module) -> Dropout | None:
    """A dropout layer that has its draws, and so runs as one with the layers before it."""
    if isinstance(layer, Dropout) and (layer.keys is not None or layer.mask is not None):
        return layer
    return None


def _apply(name: str, layer: nn.Module, weights: dict[str, Tensor], x: Tensor) -> Tensor:
    if isinstance(layer, nn.Flatten):
        return x.flatten(2)
    if isinstance(layer, nn.Unflatten):
        return x.reshape(*x.shape[:2], *layer.unflattened_size)
    if _is_normalisation(layer):
        return _normalised(name, layer, weights, x)
    if x.ndim == 5 and _is_spatial(layer):
        images: Tensor = layer(x.flatten(0, 1))
        return images.view(*x.shape[:2], *images.shape[1:])
    out: Tensor = layer(x)
    return out


def _normalised(
    name: str, layer: nn.BatchNorm1d | nn.BatchNorm2d, weights: dict[str, Tensor], x: Tensor
) -> Tensor:
    """Each replica normalised over its own batch: (replicas, rows, channels, …)."""
    names = ("running_mean", "running_var", "weight", "bias")
    state = [weights[f"{name}.{one}"] for one in names]  # (replicas, channels) each
    if layer.training:
        weights[f"{name}.num_batches_tracked"].add_(1)

    def normalise(x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.batch_norm(
            x, mean, var, weight, bias, layer.training, layer.momentum or 0.0, layer.eps
        )

    if x.device.type == "cpu":  # one by one: then with the bits that each would get alone
        return torch.stack([normalise(*one) for one in zip(x, *state)])
    together = x.transpose(0, 1).flatten(1, 2)  # all replicas' channels side by side
    y = normalise(together, *(one.view(-1) for one in state))
    return y.view(len(y), len(x), *x.shape[2:]).transpose(0, 1)


def _shape(shape: torch.Size | None) -> str:
    return "absent" if shape is None else str(tuple(shape))
