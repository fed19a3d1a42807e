"""Structured output: an invoice as a value. An answer whose total is wrong goes back to the model with the reason."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from pathlib import Path
from typing import Self

from pydantic import BaseModel, model_validator
from pydantic_ai import Agent


class Item(BaseModel):
    name: str
    price: float


class Invoice(BaseModel):
    number: str
    due: date
    items: list[Item]
    total: float

    @model_validator(mode="after")
    def check_total(self) -> Self:
        if abs(self.total - sum(item.price for item in self.items)) > 0.005:
            raise ValueError("The total is not the sum of the items.")
        return self


reader = Agent(
    "anthropic:claude-sonnet-5-5",
    instructions="Read the invoice. Prices are in euros.",
    output_type=Invoice,
    retries={"output": 2},
)


async def main(text: str) -> Invoice:
    invoice = (await reader.run(text)).output
    print(f"{invoice.number}: {invoice.total:.2f} € until {invoice.due}, {len(invoice.items)} items")
    return invoice


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8")))
