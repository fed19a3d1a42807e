"""Structured output: an invoice as a value. An answer whose total is wrong goes back to the model with the reason."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from pathlib import Path
from typing import Self

from pydantic import BaseModel, model_validator

from maverick import AgentExecutor, LLMClient, define_agent


class Item(BaseModel):
    """A line of an invoice."""

    name: str
    price: float


class Invoice(BaseModel):
    """What the bookkeeper needs."""

    number: str
    due: date
    items: list[Item]
    total: float

    @model_validator(mode="after")
    def check_total(self) -> Self:
        """The total is the sum of the items."""
        if abs(self.total - sum(item.price for item in self.items)) > 0.005:
            raise ValueError("The total is not the sum of the items.")
        return self


reader = define_agent(
    "reader", "Read the invoice. Prices are in euros.", model="claude:claude-sonnet-5-5", output=Invoice
)


async def main(text: str, client: LLMClient | None = None) -> Invoice:
    """Read one invoice."""
    async with AgentExecutor(client) as executor:
        result = await executor.execute(reader, inputs={"prompt": text})
    invoice = result.unwrap()
    print(f"{invoice.number}: {invoice.total:.2f} € until {invoice.due}, {len(invoice.items)} items")
    return invoice


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8")))
