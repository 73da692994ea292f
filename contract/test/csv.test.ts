import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CsvCell, type CsvRow, csvRows, csvText, eachCsvRow } from '../src/csv/index.ts'

function readWhole(text: string | Uint8Array): CsvRow[] {
  const rows: CsvRow[] = []
  eachCsvRow(typeof text === 'string' ? Buffer.from(text) : text, (row) => rows.push(row))
  return rows
}

async function readChunks(chunks: Iterable<Uint8Array>): Promise<CsvRow[]> {
  return all(
    csvRows(
      (async function* () {
        yield* chunks
      })(),
    ),
  )
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const value of values) found.push(value)
  return found
}

const everyByte = (text: string) => [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))
const halves = (text: string) => {
  const bytes = Buffer.from(text)
  return [bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)]
}
const cellsOf = (rows: readonly CsvRow[]) => rows.map(({ cells }) => cells)
const linesOf = (rows: readonly CsvRow[]) => rows.map(({ line }) => line)
const problemsOf = (rows: readonly CsvRow[]) =>
  rows.flatMap(({ line, problem }) => (problem === undefined ? [] : [`${line}: ${problem}`]))

describe('reading', () => {
  test.each<[string, string, string[][], number[]]>([
    [
      'LF',
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
      [1, 2],
    ],
    [
      'CRLF',
      'a,b\r\n1,2\r\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
      [1, 2],
    ],
    [
      'lone CR',
      'a,b\r1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
      [1, 2],
    ],
    ['several line ends in one file', 'a\r\n1\n2\r3', [['a'], ['1'], ['2'], ['3']], [1, 2, 3, 4]],
    ['no line end after the last row', 'a\n1', [['a'], ['1']], [1, 2]],
    [
      'a byte order mark',
      '\ufeffa,b\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
      [1, 2],
    ],
    ['quotes around a comma', 'a\n"x,y"\n', [['a'], ['x,y']], [1, 2]],
    ['doubled quotes', 'a\n"say ""hi"""\n""""\n', [['a'], ['say "hi"'], ['"']], [1, 2, 3]],
    [
      'CRLF within quotes',
      'a,b\r\n"x\r\ny",2\r\n3,4\r\n',
      [
        ['a', 'b'],
        ['x\r\ny', '2'],
        ['3', '4'],
      ],
      [1, 2, 4],
    ],
    ['every line end within quotes', 'a\n"x\ry\n\nz"\n1', [['a'], ['x\ry\n\nz'], ['1']], [1, 2, 6]],
    [
      'empty cells',
      'a,b,c\n,,\n',
      [
        ['a', 'b', 'c'],
        ['', '', ''],
      ],
      [1, 2],
    ],
    ['an empty cell in quotes', 'a\n""\n', [['a'], ['']], [1, 2]],
    ['empty lines, which are no rows', '\na\n\r\n\r\n1\n\n2', [['a'], ['1'], ['2']], [2, 5, 7]],
    ['rows of different lengths', 'a\n1,2\n', [['a'], ['1', '2']], [1, 2]],
    [
      'a column twice',
      'a,a\n1,2\n',
      [
        ['a', 'a'],
        ['1', '2'],
      ],
      [1, 2],
    ],
    ['other alphabets', 'имя\nПривет 🎁\n', [['имя'], ['Привет 🎁']], [1, 2]],
  ])('%s', async (_name, text, cells, lines) => {
    for (const rows of [
      readWhole(text),
      await readChunks([Buffer.from(text)]),
      await readChunks(everyByte(text)),
    ]) {
      expect(cellsOf(rows)).toEqual(cells)
      expect(linesOf(rows)).toEqual(lines)
      expect(problemsOf(rows)).toEqual([])
    }
  })

  test.each([
    [
      'semicolons',
      'a;b\n1;2,5\n',
      [
        ['a', 'b'],
        ['1', '2,5'],
      ],
    ],
    [
      'tabs',
      'a\tb\r\n"1\t2"\t3\r\n',
      [
        ['a', 'b'],
        ['1\t2', '3'],
      ],
    ],
    ['nothing', '', []],
  ])('a stream with %s', async (_name, text, cells) => {
    expect(cellsOf(await readChunks(everyByte(text)))).toEqual(cells)
  })
})

describe('a row that is not valid CSV', () => {
  test('is reported with its line, and does not hide the rows after it', async () => {
    const text = [
      'a,b',
      '1,5" frame',
      '"x\r\ny","2"z',
      '3,4',
      '',
      '"x" ,1',
      '5,\0',
      '"good ""quotes""",6',
      '7,"cut',
      '8,9',
    ].join('\r\n')
    for (const rows of [readWhole(text), await readChunks(everyByte(text))]) {
      expect(problemsOf(rows)).toEqual([
        expect.stringMatching(/^2: there is a quote inside a field without quotes around it \(field 2\)/),
        expect.stringMatching(/^3: there is text after a closing quote \(field 2\)/),
        expect.stringMatching(/^7: there is text after a closing quote \(field 1\)/),
        expect.stringMatching(/^8: there is a NUL character/),
        expect.stringMatching(/^10: a quoted field begins here and never ends/),
      ])
      expect(cellsOf(rows.filter(({ problem }) => problem === undefined))).toEqual([
        ['a', 'b'],
        ['3', '4'],
        ['good "quotes"', '6'],
      ])
    }
  })

  test('is refused after a megabyte when a quote is never closed, however long the file', async () => {
    let taken = 0
    async function* endless() {
      yield Buffer.from('a,b\n"1\n')
      for (;;) {
        // As with a file: the next chunk comes in another turn of the event loop.
        await setImmediate()
        taken += 65_536
        yield Buffer.alloc(65_536, 'x,y\n')
      }
    }
    expect(problemsOf(await all(csvRows(endless())))).toEqual([
      expect.stringMatching(/^2: the row has more than 1,000,000 bytes.*What follows was not read/),
    ])
    expect(taken).toBeLessThan(4_000_000)
    const long = Buffer.concat([
      Buffer.from('a,b\n"1\n'),
      Buffer.alloc(3_000_000, 'x,y\n'),
      Buffer.from('"\n1,2\n'),
    ])
    expect(problemsOf(readWhole(long))).toHaveLength(1)
    expect(readWhole(long)).toHaveLength(2)
    expect(await readChunks([long.subarray(0, 2_000_000), long.subarray(2_000_000)])).toHaveLength(2)
  })

  test('a file that cannot be read is an error, not an empty file', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a\n1\n')
      throw new Error('disk')
    }
    await expect(all(csvRows(broken()))).rejects.toThrow('disk')
  })
})

describe('writing', () => {
  test('ends every row with CRLF and quotes what needs quotes', () => {
    expect(
      csvText([
        ['a', 'b'],
        ['x,y', 'say "hi"'],
        ['two\nlines', 'two\rlines'],
        [1, null],
        [' ', undefined],
      ]),
    ).toBe('a,b\r\n"x,y","say ""hi"""\r\n"two\nlines","two\rlines"\r\n1,\r\n ,\r\n')
    expect(csvText([])).toBe('')
  })

  test('a cell that begins as a formula gets an apostrophe; amounts stay numbers', () => {
    const cells = [
      '=1+1',
      '+1',
      '@sum',
      '-1+cmd',
      '-key',
      '\tx',
      '\rx',
      '＝1',
      "'=1",
      '-4.99',
      -5,
      '5',
      'a=b',
      "it's",
    ]
    expect(csvText([cells])).toBe(
      `'=1+1,'+1,'@sum,'-1+cmd,'-key,'\tx,"'\rx",'＝1,''=1,-4.99,-5,5,a=b,it's\r\n`,
    )
    expect(cellsOf(readWhole(csvText([cells])))).toEqual([cells.map(String)])
  })

  test('is the inverse of reading', { timeout: 30_000 }, async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...`,;"'=+-@\r\n\t 1a`) }),
    )
    // An empty line is no row, and NUL is a problem.
    const row = fc.array(
      cell.map((text) => text.replaceAll('\0', '')),
      { minLength: 2, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 4 }), async (rows: CsvCell[][]) => {
        // The first line of a stream determines the delimiter.
        const text = csvText([['a', 'b'], ...rows])
        const wanted = [['a', 'b'], ...rows]
        expect(cellsOf(readWhole(text))).toEqual(wanted)
        expect(cellsOf(await readChunks(halves(text)))).toEqual(wanted)
        expect(problemsOf(readWhole(text))).toEqual([])
      }),
      { numRuns: 50 },
    )
  })
})
