"""Taking tickets and giving them back: what is kept of them is read and written in one
transaction."""

from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.tickets import (
    TicketAnswer,
    TicketRequest,
    ToolTickets,
    parsed_tickets,
    stand,
    tickets_text,
)


def standing(request: TicketRequest) -> StoreRule:
    """See `Store.stand`."""

    def work(sheet: Sheet) -> TicketAnswer:
        after, answer = stand(parsed_tickets(sheet.tickets), request, sheet.now)
        text = tickets_text(after)
        if text != sheet.tickets:
            sheet.writes.tickets = text
        return answer

    return StoreRule(ReadRequest(tickets=True), work)


def counting() -> StoreRule:
    """See `Store.tickets`."""

    def work(sheet: Sheet) -> dict[str, ToolTickets]:
        return parsed_tickets(sheet.tickets)

    return StoreRule(ReadRequest(tickets=True), work)
