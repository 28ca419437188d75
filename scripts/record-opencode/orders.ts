/** Orders of a shop as comma-separated values, with rows as long as such exports have them. */
export function orders(rows: number): string {
  const lines = ["order,date,customer,email,sku,description,quantity,unit,discount,status,address,note"];
  for (let row = 1; row <= rows; row++) lines.push(orderLine(row));
  return `${lines.join("\n")}\n`;
}

/** What the bookkeepers see: every refund with its invoice, as a program that rounds twice computes them. */
export function refundList(rows: number): string {
  const lines: string[] = [];
  for (let row = 1; row <= rows; row++) {
    const { number, status, quantity, cents, discountPercent } = orderOf(row);
    if (status !== "refunded") continue;
    const refund = roundedTwice(quantity * cents, discountPercent);
    const invoice = roundedTwice(-quantity * cents, discountPercent);
    lines.push(
      `${number}  invoice ${amount(invoice)}  refund ${amount(refund)}${invoice + refund === 0 ? "" : "  <- differs"}`,
    );
  }
  return lines.join("\n");
}

function orderLine(row: number): string {
  const { number, status, quantity, cents, discountPercent } = orderOf(row);
  const item = ITEMS[(row * 7) % ITEMS.length];
  const street = STREETS[(row * 5) % STREETS.length];
  const customer = 1000 + ((row * 7919) % 977);
  return [
    number,
    `2026-01-${String(1 + (row % 31)).padStart(2, "0")}`,
    `customer ${customer}`,
    `customer.${customer}@shop.example`,
    `SKU-${(row * 31) % 8191}`,
    `"${item}, packed in box ${row % 53} together with the leaflet about returns and warranty"`,
    String(quantity),
    (cents / 100).toFixed(2),
    String(discountPercent),
    status,
    `"${street} ${1 + (row % 120)}, staircase ${row % 4}, door ${row % 30}, ${10_000 + ((row * 37) % 89_999)} Sample Town"`,
    `"${status} on day ${1 + (row % 31)} by clerk ${row % 12}; ${NOTES[(row * 3) % NOTES.length]}"`,
  ].join(",");
}

interface Order {
  readonly number: string;
  readonly status: string;
  readonly quantity: number;
  readonly cents: number;
  readonly discountPercent: number;
}

function orderOf(row: number): Order {
  const status = STATUSES[row % STATUSES.length] ?? "";
  return {
    number: `A${40_000 + row}`,
    status,
    quantity: status === "refunded" ? -(1 + (row % 4)) : 1 + (row % 9),
    cents: 5 + ((row * 104_729) % 19_994),
    discountPercent: [0, 0, 5, 10, 12.5][row % 5] ?? 0,
  };
}

function roundedTwice(grossCents: number, discountPercent: number): number {
  return Math.round((Math.round((grossCents * (100 - discountPercent)) / 100) * 120) / 100);
}

function amount(cents: number): string {
  return (cents / 100).toFixed(2).padStart(9);
}

const ITEMS = [
  "Folding chair made of ash wood with a seat of woven paper cord",
  "Desk lamp with a weighted foot and a cable wrapped in grey cotton",
  "Set of six drinking glasses that can be stacked into one another",
  "Notebook with dotted pages, numbered, with an index at the back",
  "Wall clock with a silent movement and numerals that glow at night",
] as const;

const STREETS = ["Upper Mill Lane", "Harbour View Road", "Old Observatory Street", "Lime Tree Walk"] as const;

const STATUSES = ["paid", "refunded", "shipped", "voucher", "partial", "returned"] as const;

const NOTES = [
  "the parcel was handed to the neighbour on the second floor, who signed for it in the evening",
  "the customer asked for an invoice with the name of the company and the number of the order on it",
  "no remarks were made at the counter, and the copy of the receipt was kept in the folder of that week",
  "the address was corrected by hand, since the house number on the label could not be read any more",
] as const;
