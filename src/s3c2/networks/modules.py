"""What is done with a network whatever its layers are: weights, sizes, heads, committees."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from s3c2.errors import DataError


def initialised(network: nn.Module, seed: int) -> nn.Module:
    """Glorot's uniform weights and zero biases, from the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            if layer.weight.is_meta:  # sizes alone
                continue
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


def output_size(encoder: nn.Module, shape: tuple[int, ...]) -> int:
    """Dimensions of the encoder's output, found by handing it a batch of zeros."""
    device = next((p.device for p in encoder.parameters()), None)
    rows = torch.zeros(2, *shape, dtype=torch.float32, device=device)
    was_training = encoder.training
    try:
        with torch.no_grad():
            return int(encoder.eval()(rows).shape[1])
    except Exception as error:
        sizes = ", ".join(["rows", *map(str, shape)])
        raise DataError(
            f"The encoder cannot take a batch of shape ({sizes}): {error}. "
            "Give X in the shape that it expects."
        ) from error
    finally:
        encoder.train(was_training)


def check_own(encoder: nn.Module, shape: tuple[int, ...]) -> None:
    """Refuse an encoder of the user's own that cannot learn, or cannot take such rows."""
    name = type(encoder).__name__
    lazy = any(isinstance(one, nn.UninitializedParameter) for one in encoder.parameters())
    if lazy:
        raise ValueError(
            f"The encoder {name} has layers whose sizes are still open (nn.Lazy…). Hand it a row "
            "first, encoder(torch.zeros(1, …)), or give the sizes."
        )
    learning = [one for one in encoder.parameters() if one.requires_grad]
    if not learning:
        raise ValueError(
            f"The encoder {name} has no parameters that learn. Add a layer, or let some of its "
            "parameters learn (requires_grad_(True))."
        )
    others = {one.dtype for one in encoder.parameters()} - {torch.float32}
    if others:
        raise ValueError(
            f"The encoder {name} has parameters of {', '.join(map(str, others))}, and rows are "
            "torch.float32. Turn it into such an encoder: encoder.float()."
        )
    output_size(own_copy(encoder), shape)


def own_copy(module: nn.Module) -> nn.Module:
    """A copy of the user's module that gives one vector a row, on the CPU."""
    return nn.Sequential(copy.deepcopy(module), nn.Flatten()).cpu()


def with_head(encoder: nn.Module, shape: tuple[int, ...], n_clusters: int, seed: int) -> nn.Module:
    """A copy of the user's encoder with a softmax layer on top."""
    with torch.random.fork_rng([]):
        body = own_copy(encoder)
        head = nn.Sequential(nn.Linear(output_size(body, shape), n_clusters), nn.Softmax(-1))
    return nn.Sequential(body, initialised(head, seed))


def continued_from(encoder: nn.Module, network: nn.Module) -> nn.Module:
    """The cluster network with the encoder's weights, but for its last layer, which stays its own.

    Layers correspond by their place; those of an own encoder lie one level deeper.
    """
    state = network.state_dict()
    last = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)][-1]
    for name, weights in encoder.state_dict().items():
        for place in (name, f"0.{name}"):
            fits = place in state and state[place].shape == weights.shape
            if fits and not place.startswith(f"{last}."):
                state[place] = weights
                break
    network.load_state_dict(state)
    return network


class Committee(nn.Module):
    """Encoders side by side, scaled so that squared distances are the mean of the members'."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.cat([member(x) for member in self.members], dim=-1)
        return h.div(len(self.members) ** 0.5)


def committee_of(encoders: Sequence[nn.Module]) -> nn.Module:
    """A committee, or the one encoder itself."""
    return encoders[0] if len(encoders) == 1 else Committee(encoders)


def members_of(encoder: nn.Module) -> list[nn.Module]:
    """The encoders of a committee, or the one encoder."""
    return list(encoder.members) if isinstance(encoder, Committee) else [encoder]
