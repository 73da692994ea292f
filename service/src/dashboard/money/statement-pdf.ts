import type { MonthSums } from '@shopwire/contract/dashboard'
import PdfDocument from 'pdfkit'
import { readPeriods } from '../../ledger/statement.ts'
import type { Transfer } from '../../ledger/transfer.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { monthRange } from '../../platform/text/months.ts'
import { decimal, type StatementRange, statementChunks } from './statement-csv.ts'

/** More lines than this would make a file of hundreds of pages that takes long to make: orders are then added up by day. */
export const LINES_MAX = 20_000

export interface Statement {
  readonly account: { readonly id: string; readonly name: string }
  /** Name and address, by lines. */
  readonly seller: readonly string[]
  readonly sums: MonthSums
  readonly range: StatementRange
  readonly made_at: Date
}

interface Line {
  readonly time: string
  readonly entry: string
  readonly reference: string
  readonly amount_cents: number
  readonly balance_cents: number
}

const PAGE = { width: 595.28, height: 841.89, left: 48, right: 547.28 }
const ROW = 15
/** Beside the title. */
const SELLER = { left: 330, top: 48, line: 12 }
const FIRST_TOP = 286
const NEXT_TOP = 84
const BOTTOM = 778
const INK = '#17181a'
const QUIET = '#686a70'
const HAIRLINE = '#d3d2cc'
const COLUMNS = { time: 48, entry: 146, reference: 226, amount: 392, balance: 472, width: 75 }
const KINDS = { order: 'Order', refund: 'Refund', funding: 'Top-up', adjustment: 'Adjustment' } as const

/** One month as a file: A4, black on white, every line with the balance after it. Pages are made while the download is read. */
export function statementPdf(db: Db, statement: Statement, linesMax = LINES_MAX): AsyncIterable<Buffer> {
  const { account, sums, range, made_at } = statement
  const document = new PdfDocument({
    size: 'A4',
    margin: 0,
    autoFirstPage: false,
    info: {
      Title: `Statement ${sums.month}, ${plain(account.name)}`,
      Producer: 'Shopwire',
      CreationDate: made_at,
    },
  })
  const isWhole = range.to_seq - range.from_seq <= linesMax
  const lines = isWhole ? everyLine(db, account.id, range) : linesByDay(db, account.id, sums)
  write(document, statement, isWhole, lines).then(
    () => document.end(),
    (error: Error) => document.destroy(error),
  )
  return document as unknown as AsyncIterable<Buffer>
}

async function write(
  document: PDFKit.PDFDocument,
  statement: Statement,
  isWhole: boolean,
  source: AsyncIterable<readonly Line[]>,
): Promise<void> {
  const { sums, range } = statement
  // The number of pages has to be known on the first one. Days and their few other lines are read at once.
  const known: Line[] = []
  if (!isWhole) for await (const lines of source) known.push(...lines)
  const count = isWhole ? range.to_seq - range.from_seq : known.length
  const onFirst = Math.floor((BOTTOM - FIRST_TOP) / ROW) - 1
  const onNext = Math.floor((BOTTOM - NEXT_TOP) / ROW) - 1
  // One line more, for the closing balance.
  const pages = 1 + Math.ceil(Math.max(0, count + 1 - onFirst) / onNext)
  let page = 0
  let y = 0
  const turn = () => {
    page += 1
    document.addPage()
    if (page === 1) drawHead(document, statement, isWhole)
    else drawShortHead(document, statement)
    drawFoot(document, statement, page, pages)
    y = drawColumns(document, page === 1 ? FIRST_TOP : NEXT_TOP)
  }
  const draw = (line: Line, isBold = false) => {
    if (y + ROW > BOTTOM) turn()
    drawLine(document, y, line, isBold)
    y += ROW
  }
  turn()
  for await (const lines of isWhole ? source : [known]) for (const line of lines) draw(line)
  draw(
    {
      time: '',
      entry: sums.is_current ? 'Balance now' : 'Closing balance',
      reference: '',
      amount_cents: sums.closing_cents - sums.opening_cents,
      balance_cents: sums.closing_cents,
    },
    true,
  )
}

function drawHead(
  document: PDFKit.PDFDocument,
  { account, seller, sums }: Statement,
  isWhole: boolean,
): void {
  document.fillColor(INK).font('Helvetica-Bold').fontSize(20)
  at(document, `Statement, ${monthName(sums.month)}`, PAGE.left, 48)
  document.font('Helvetica').fontSize(9).fillColor(QUIET)
  at(document, `${plain(account.name)}, ${account.id}`, PAGE.left, 78)
  const until = sums.is_current ? 'now' : `${sums.to.slice(0, 10)} 00:00`
  at(
    document,
    `From ${sums.from.slice(0, 10)} 00:00 to ${until}. All times are UTC, all amounts US dollars.`,
    PAGE.left,
    92,
  )
  const parts: readonly [string, number][] = [
    ['Opening balance', sums.opening_cents],
    [`Top-ups, ${group(sums.top_ups_count)}`, sums.top_ups_cents],
    [`Refunds, ${group(sums.refunds_count)}`, sums.refunds_cents],
    [`Adjustments, ${group(sums.adjustments_count)}`, sums.adjustments_cents],
    [`Orders, ${group(sums.orders_count)}`, -sums.orders_cents],
    [sums.is_current ? 'Balance now' : 'Closing balance', sums.closing_cents],
  ]
  for (const [n, line] of seller.entries())
    document.text(plain(line), SELLER.left, SELLER.top + n * SELLER.line, {
      width: PAGE.right - SELLER.left,
      align: 'right',
      lineBreak: false,
      ellipsis: true,
      height: SELLER.line,
    })
  for (const [n, [label, cents]] of parts.entries()) {
    const y = 122 + n * 20
    const isEdge = n === 0 || n === parts.length - 1
    rule(document, y - 6)
    document
      .fillColor(INK)
      .font(isEdge ? 'Helvetica-Bold' : 'Helvetica')
      .fontSize(10)
    at(document, label, PAGE.left, y)
    right(document, isEdge ? money(cents) : signed(cents), COLUMNS.balance, y)
  }
  rule(document, 122 + parts.length * 20 - 6)
  if (isWhole) return
  document.font('Helvetica').fontSize(8).fillColor(QUIET)
  at(document, 'Orders are added up by day. The CSV export has every order of the month.', PAGE.left, 250)
}

function drawShortHead(document: PDFKit.PDFDocument, { account, sums }: Statement): void {
  document.font('Helvetica').fontSize(9).fillColor(QUIET)
  at(document, `Statement, ${monthName(sums.month)}`, PAGE.left, 48)
  const name = plain(account.name)
  document.text(name, PAGE.left + 200, 48, {
    width: PAGE.right - PAGE.left - 200,
    align: 'right',
    lineBreak: false,
    ellipsis: true,
    height: 12,
  })
}

function drawFoot(document: PDFKit.PDFDocument, { made_at }: Statement, page: number, pages: number): void {
  document.font('Helvetica').fontSize(8).fillColor(QUIET)
  at(document, `Made ${made_at.toISOString().replace('T', ' ').slice(0, 19)} UTC`, PAGE.left, 800)
  right(document, `Page ${page} of ${pages}`, COLUMNS.balance, 800)
}

function drawColumns(document: PDFKit.PDFDocument, y: number): number {
  document.font('Helvetica').fontSize(8).fillColor(QUIET)
  at(document, 'Time (UTC)', COLUMNS.time, y)
  at(document, 'Entry', COLUMNS.entry, y)
  at(document, 'Reference', COLUMNS.reference, y)
  right(document, 'Amount', COLUMNS.amount, y)
  right(document, 'Balance after', COLUMNS.balance, y)
  rule(document, y + ROW - 3)
  return y + ROW
}

function drawLine(document: PDFKit.PDFDocument, y: number, line: Line, isBold: boolean): void {
  document
    .font(isBold ? 'Helvetica-Bold' : 'Helvetica')
    .fontSize(8)
    .fillColor(isBold ? INK : QUIET)
  at(document, line.time, COLUMNS.time, y + 2)
  document.fillColor(INK)
  at(document, line.entry, COLUMNS.entry, y + 2)
  const width = COLUMNS.amount - COLUMNS.reference - 4
  document.text(plain(line.reference), COLUMNS.reference, y + 2, {
    width,
    height: 10,
    lineBreak: false,
    ellipsis: true,
  })
  right(document, signed(line.amount_cents), COLUMNS.amount, y + 2)
  right(document, money(line.balance_cents), COLUMNS.balance, y + 2)
  rule(document, y + ROW - 2)
}

function at(document: PDFKit.PDFDocument, text: string, x: number, y: number): void {
  if (text !== '') document.text(text, x, y, { lineBreak: false })
}

function right(document: PDFKit.PDFDocument, text: string, x: number, y: number): void {
  document.text(text, x, y, { width: COLUMNS.width, align: 'right', lineBreak: false })
}

function rule(document: PDFKit.PDFDocument, y: number): void {
  document.moveTo(PAGE.left, y).lineTo(PAGE.right, y).lineWidth(0.5).strokeColor(HAIRLINE).stroke()
}

async function* everyLine(
  db: Db,
  account_id: string,
  range: StatementRange,
): AsyncGenerator<readonly Line[]> {
  for await (const transfers of statementChunks(db, account_id, range)) yield transfers.map(lineOf)
}

async function* linesByDay(db: Db, account_id: string, sums: MonthSums): AsyncGenerator<readonly Line[]> {
  const { from, to } = monthRange(sums.month)
  const days = Math.round((to.getTime() - from.getTime()) / 86_400_000)
  const starts = Array.from({ length: days + 1 }, (_, n) => new Date(from.getTime() + n * 86_400_000))
  const periods = await inAccount(db, account_id, (tx) => readPeriods(tx, account_id, starts))
  for (const [n, period] of periods.entries()) {
    for (const kind of ['funding', 'refund', 'adjustment'] as const)
      for await (const transfers of statementChunks(db, account_id, period, { kind }))
        yield transfers.map(lineOf)
    if (period.orders_count === 0) continue
    yield [
      {
        time: (starts[n] as Date).toISOString().slice(0, 10),
        entry: 'Orders',
        reference: `${group(period.orders_count)} of this day, with the balance at its end`,
        amount_cents: -period.orders_cents,
        balance_cents: period.closing_cents,
      },
    ]
  }
}

function lineOf(transfer: Transfer): Line {
  return {
    time: transfer.created_at.toISOString().replace('T', ' ').slice(0, 19),
    entry: KINDS[transfer.kind],
    reference: transfer.order_id ?? transfer.note ?? transfer.reference ?? '',
    amount_cents: transfer.change_cents,
    balance_cents: transfer.balance_after_cents,
  }
}

function monthName(month: string): string {
  return new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    monthRange(month).from,
  )
}

function money(cents: number): string {
  const [whole = '', rest] = decimal(Math.abs(cents)).split('.')
  return `${cents < 0 ? '-' : ''}$${group(Number(whole))}.${rest}`
}

function signed(cents: number): string {
  return cents > 0 ? `+${money(cents)}` : money(cents)
}

function group(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** The fonts that every PDF reader has cover only Windows-1252; any other letter would print as a different one. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/gu, '?')
}
