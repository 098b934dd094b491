"""A provider with a cap: what a call can cost at most is reserved before it is made, and settled after.

Recorded spend plus open reservations never exceed the cap, however many workers ask at once. A call that does not fit
is not made: the unit parks.
"""

from __future__ import annotations

from autopilot_agents.errors import AnswerIncomplete, ProviderRefused
from autopilot_agents.protocols import ModelLimits, Provider, Reply, Request
from autopilot_agents.providers.model_table import ModelFigures
from autopilot_state.models import Usage

MESSAGE_OVERHEAD_TOKENS = 64
"""What a provider adds to each turn, role marks and block types; generous."""


class Metered:
    """Wraps a provider whose model has a price.

    Args:
        provider: who is asked.
        figures: prices of its model.
        cap_usd: of the run, in dollars.
        spent_usd: what the run's journal says was spent before this start.
    """

    def __init__(
        self, provider: Provider, figures: ModelFigures, *, cap_usd: float, spent_usd: float
    ) -> None:
        self.name = provider.name
        self._provider = provider
        self._figures = figures
        self._cap_usd = cap_usd
        self._spent_usd = spent_usd
        self._reserved_usd = 0.0

    async def limits(self) -> ModelLimits:
        return await self._provider.limits()

    async def complete(self, request: Request) -> Reply:
        """Return the provider's answer.

        Raises:
            ProviderRefused: AP330, the call could cost more than what is left of the cap.
        """
        most = most_usd(request, self._figures)
        left = self._cap_usd - self._spent_usd - self._reserved_usd
        if most > left:
            raise ProviderRefused(
                "AP330",
                f"the cap of ${self._cap_usd:.2f} is reached",
                why=f"${self._spent_usd:.2f} spent; the next call may cost ${most:.2f}, ${max(left, 0):.2f} are left",
                fix="raise it and go on: autopilot resume --max-usd X",
            )
        self._reserved_usd += most
        try:
            reply = await self._provider.complete(request)
            self._spent_usd += reply.usage.cost_usd
        except AnswerIncomplete as error:
            # The part that came is billed; without figures it may have been all of it.
            self._spent_usd += error.usage.cost_usd if error.usage else most
            raise
        finally:
            self._reserved_usd -= most
        return reply


def most_usd(request: Request, figures: ModelFigures) -> float:
    """Return an upper bound of a call's price: no token is shorter than a byte, and all output is used."""
    texts = [request.system]
    for message in request.messages:
        texts += [message.text, repr(message.raw or "")]
        texts += [f"{call.name}{call.arguments}" for call in message.tool_calls]
        texts += [result.text for result in message.tool_results]
    texts += [f"{tool.name}{tool.description}{tool.schema}" for tool in request.tools]
    tokens = sum(len(text.encode()) for text in texts) + MESSAGE_OVERHEAD_TOKENS * (len(request.messages) + 1)
    return figures.cost_usd(Usage(cache_write_tokens=tokens, output_tokens=request.max_tokens))
