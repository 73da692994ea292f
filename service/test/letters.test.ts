import { globSync, readFileSync } from 'node:fs'
import { startMailSink } from '@shopwire/test-kit/receivers/mail-sink'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXAMPLE_ORIGIN, exampleLetters } from '../development/example-letters.ts'
import { type Letter, renderText, subjectOf } from '../src/platform/mail/letter.ts'
import { renderHtml } from '../src/platform/mail/letter-html.ts'
import { smtpSender } from '../src/platform/mail/mail.ts'
import { isolated } from '../src/platform/text/plain-text.ts'

const MAIL_BYTES_MAX = 20_000
const SOURCES = new URL('../src/', import.meta.url)
const letters = Object.entries(exampleLetters())

const sentence = ({ subject, headline = subject }: Letter) =>
  typeof headline === 'string' ? headline : headline.says
/** What a person reads in the HTML form. */
const shownIn = (html: string) =>
  html
    .replace(/^[\s\S]*<body[^>]*>/, '')
    .replace(/<div style="display:none[\s\S]*?<\/div>/, '')
    .replaceAll(/<\/?(bdi|span)[^>]*>/g, '')
    .replaceAll(/<[^>]+>/g, '\n')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

describe.each(letters)('%s', (_name, letter) => {
  const { headline, paragraphs = [], facts = [], action, footer = [] } = letter
  const [text, html] = [renderText(letter), renderHtml(letter)]

  test('says the same in both forms, with its headline first', () => {
    const lines = shownIn(html).split('\n').filter(Boolean)
    const amount = typeof headline === 'object' ? (text.split(' ')[0] as string) : undefined
    expect(amount ?? '$0.00').toMatch(/^\$[\d,]+\.\d\d$/)
    expect(text.split('\n')[0]).toBe([amount, sentence(letter)].filter(Boolean).join(' '))
    const link = action ? [action.says, action.label, action.url] : []
    expect(lines).toEqual([
      'Shopwire',
      ...(amount === undefined ? [] : [amount]),
      sentence(letter),
      ...paragraphs,
      ...facts.flat(),
      ...link,
      ...footer,
    ])
    for (const each of [...paragraphs, ...footer, ...(action ? [`${action.says}\n${action.url}`] : [])])
      expect(text).toContain(`\n${each}\n`)
    for (const [label, value] of facts) expect(text).toContain(`\n${label}: ${value}\n`)
  })

  test('links to the dashboard or nowhere, and loads nothing', () => {
    expect(html.match(/(?:href|src|srcset|background|action)="[^"]*"/g) ?? []).toEqual(
      action ? [`href="${action.url}"`] : [],
    )
    expect(action?.url ?? EXAMPLE_ORIGIN).toMatch(new RegExp(`^${EXAMPLE_ORIGIN}(/|$)`))
    expect(html).not.toMatch(/url\(|@import|<(img|link|script|iframe|form|svg)/i)
    expect([...html.matchAll(/https?:/g)].length).toBe(action ? 2 : 0)
  })
})

test('every function that writes a letter has an example', () => {
  const written = globSync('**/*.ts', { cwd: SOURCES })
    .flatMap((file) =>
      readFileSync(new URL(file, SOURCES), 'utf8')
        .split(/^export function /m)
        .slice(1),
    )
    .map((text) => /^(\w+)[\s\S]*?\): (.+) \{$/m.exec(text))
    .flatMap((found) => (found?.[2] === 'Letter' ? found[1] : []))
  const examples = letters.map(([name]) => name.split(',')[0] as string)
  expect(new Set([...examples, 'withActor'])).toEqual(new Set(written))
})

test.each([
  ['a script', '<script>alert(1)</script><img src=x onerror=alert(1)>'],
  ['an attribute', '" onmouseover="alert(1)" \' x=\''],
  ['a header', 'x\r\nBcc: everybody@example.com\r\n\r\n<b>'],
  ['marks that reverse text', 'abc\u202egpj.exe\u2069\u2068'],
  ['text from right to left', 'שלום (12)'],
  ['as long as allowed', '👩🏽‍🚀'.repeat(14) + 'ä'.repeat(44)],
])('names that are %s stay text in their place', (_what, name) => {
  for (const [kind, letter] of Object.entries(exampleLetters(() => name))) {
    const usual = exampleLetters()[kind] as Letter
    expect(subjectOf(letter)).toMatch(/^[^\p{Cc}\u202e]{1,200}$/u)
    expect(renderText(letter).split('\n').length).toBe(renderText(usual).split('\n').length)
    expect(tagsOf(renderHtml(letter))).toEqual(tagsOf(renderHtml(usual)))
    for (const form of [renderText(letter), renderHtml(letter)]) expect(form).not.toMatch(/[\r\u202e]/)
  }
})

/** Without those that only set names apart. */
const tagsOf = (html: string) => html.match(/<[^>]*>/g)?.filter((tag) => !/^<\/?bdi>$/.test(tag))

test('a name from right to left is set apart wherever it stands; one from left to right is left as it is', () => {
  const name = 'שלום (12)'
  for (const [kind, named] of Object.entries(exampleLetters(() => name)))
    for (const form of [subjectOf(named), renderText(named), renderHtml(named)])
      for (const before of form.split(name).slice(0, -1))
        expect([kind, before]).toEqual([kind, expect.stringMatching(/(\u2068|<bdi>)$/)])
  const letter = { subject: 'Hello', paragraphs: [`To ${isolated('שלום')} (${isolated('Ada')})`] }
  expect(renderText(letter)).toContain('To \u2068שלום\u2069 (Ada)')
  expect(renderHtml(letter)).toContain('To <bdi>שלום</bdi> (Ada)')
})

test('each is sent as text and HTML in one mail of at most 20 kB, with names as long as allowed', async () => {
  const sink = await startMailSink()
  const smtp = smtpSender(sink.url, 'Shopwire <store@example.com>', { mustEncrypt: false })
  onTestFinished(async () => {
    smtp.close()
    await sink.stop()
  })
  const to = 'ada@example.com'
  for (const [kind, letter] of Object.entries(exampleLetters(() => 'ä'.repeat(100)))) {
    const [subject, text, html] = [subjectOf(letter), renderText(letter), renderHtml(letter)]
    await smtp.send({ to, subject, text, html, id: kind })
    const mail = await sink.next(to, /./)
    expect([mail.subject, mail.text.trimEnd(), mail.html.trimEnd()]).toEqual([
      subject,
      text.trimEnd(),
      html.trimEnd(),
    ])
    expect(mail.source.match(/^Content-Type: [\w/]+/gm)?.map((line) => line.slice(14))).toEqual([
      'multipart/alternative',
      'text/plain',
      'text/html',
    ])
    expect(mail.source.length).toBeLessThan(MAIL_BYTES_MAX)
  }
})
