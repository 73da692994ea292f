import { describe, expect, test } from 'vitest'
import { parseCsv } from '../src/csv/read-csv.ts'
import { csvLine } from '../src/csv/write-csv.ts'

async function rows(...chunks: string[]): Promise<(readonly string[])[]> {
  const found: (readonly string[])[] = []
  for await (const { cells } of parseCsv(chunks)) found.push(cells)
  return found
}

describe('reads CSV as RFC 4180 specifies', () => {
  test.each([
    [
      'plain cells',
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'CRLF',
      'a,b\r\n1,2\r\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'lone CR',
      'a,b\r1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['no line break at the end', 'a\n1', [['a'], ['1']]],
    [
      'a byte order mark',
      '\ufeffa,b\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['quotes around a comma', 'a\n"x,y"\n', [['a'], ['x,y']]],
    ['a doubled quote', 'a\n"say ""hi"""\n', [['a'], ['say "hi"']]],
    [
      'a line break within quotes',
      'a,b\n"x\r\ny",2\n',
      [
        ['a', 'b'],
        ['x\r\ny', '2'],
      ],
    ],
    [
      'empty cells',
      'a,b,c\n,,\n',
      [
        ['a', 'b', 'c'],
        ['', '', ''],
      ],
    ],
    ['an empty quoted cell alone', 'a\n""\n', [['a'], ['']]],
    ['empty lines are skipped', 'a\n\n\n1\n\n', [['a'], ['1']]],
    [
      'a semicolon for the comma',
      'a;b\n1;2,5\n',
      [
        ['a', 'b'],
        ['1', '2,5'],
      ],
    ],
    ['other alphabets', 'name\nПривет 🎁\n', [['name'], ['Привет 🎁']]],
  ])('%s', async (_name, text, expected) => {
    expect(await rows(text)).toEqual(expected)
    // For every way to split the bytes into chunks.
    expect(await rows(...(text.match(/[\s\S]/gu) ?? []))).toEqual(expected)
  })

  test.each([
    ['a quote that is never closed', 'a\n"x\n'],
    ['a quote within a plain cell', 'a\nx"y\n'],
    ['something after a closing quote', 'a\n"x"y\n'],
  ])('refuses %s and names the line', async (_name, text) => {
    await expect(rows(text)).rejects.toThrow(/line 2/)
  })

  test('escapes cells that begin like a formula; numbers and keys stay unchanged', () => {
    expect(csvLine(['=1+1', '+1', '@sum', '-1+cmd', '\tx', -5, '-key.1:a', 'a=b'])).toBe(
      "'=1+1,'+1,'@sum,'-1+cmd,'\tx,-5,-key.1:a,a=b\n",
    )
  })

  test('reads back what it wrote', async () => {
    const cells = ['plain', 'a,b', 'say "hi"', 'two\nlines', '', ' spaces ']
    expect(await rows(csvLine(['h1', 'h2', 'h3', 'h4', 'h5', 'h6']), csvLine(cells))).toEqual([
      ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
      cells,
    ])
  })
})
