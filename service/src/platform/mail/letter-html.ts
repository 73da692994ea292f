import { assert } from '../trouble.ts'
import { headlineOf, type Letter, partsOf, subjectOf } from './letter.ts'
import { colours, textSizes } from './look.generated.ts'

type Colour = keyof typeof colours
type Size = keyof typeof textSizes

const COLUMN_WIDTH_MAX_PX = 560
/** Fonts that devices have. Outlook shows Times where the first name is one that it does not know, as `system-ui` is. */
const FONTS = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/**
 * The colours of a dark screen. Elements have the light ones in their `style`, because some clients read nothing else, so these have to
 * be important.
 */
const DARK = [
  `.canvas{background:${colours.canvas[1]}!important}`,
  ...(['ink', 'ink2', 'ink3'] as const).map((tone) => `.${tone}{color:${colours[tone][1]}!important}`),
  `.line{border-color:${colours.line[1]}!important}`,
  `.button{background:${colours.ink[1]}!important;color:${colours.canvas[1]}!important}`,
].join('')

/**
 * The HTML form of a letter, for mail clients: styles at the elements, no pictures, fonts or scripts, nothing that is loaded. The clients
 * choose between the light and the dark colours.
 */
export function renderHtml(letter: Letter): string {
  const { paragraphs = [], facts = [], action, footer = [] } = letter
  return [
    '<!doctype html>',
    '<html lang="en" dir="ltr"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    // Otherwise some clients make links of what looks like a telephone number or a date.
    '<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    `<title>${escaped(subjectOf(letter))}</title>`,
    `<style>:root{color-scheme:light dark}@media (prefers-color-scheme:dark){${DARK}}</style></head>`,
    `<body class="canvas" style="margin:0;padding:0;background:${light('canvas')}">`,
    // The line that lists of mail show after the subject.
    `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${words(preheaderOf(letter))}</div>`,
    `<div class="canvas" style="padding:32px 16px;background:${light('canvas')}">`,
    `<div role="article" aria-roledescription="email" lang="en" dir="ltr" style="max-width:${COLUMN_WIDTH_MAX_PX}px;margin:0 auto;` +
      `font-family:${FONTS};overflow-wrap:anywhere;word-break:break-word">`,
    `<p ${styled('ink', 'lead', 'margin:0 0 32px;font-weight:600')}>Shopwire</p>`,
    headline(letter),
    ...paragraphs.map(paragraph),
    facts.length > 0 ? table(facts) : '',
    action ? button(action) : '',
    footer.length > 0 ? small(footer) : '',
    '</div></div></body></html>',
    '',
  ].join('\n')
}

const light = (colour: Colour) => colours[colour][0]

function styled(tone: Colour, size: Size, more: string, classes = ''): string {
  const [sizePx, linePx] = textSizes[size]
  return `class="${tone}${classes}" style="font-size:${sizePx}px;line-height:${linePx}px;color:${light(tone)};${more}"`
}

function preheaderOf(letter: Letter): string {
  const { paragraphs: [first] = [], action } = letter
  return first ?? action?.says ?? headlineOf(letter).says
}

/** The cents of an amount are quieter than its dollars, as in the dashboard. */
function headline(letter: Letter): string {
  const { amount, says } = headlineOf(letter)
  if (amount === undefined)
    return `<h1 ${styled('ink', 'title', 'margin:0 0 16px;font-weight:600')}>${words(says)}</h1>`
  const [dollars, cents] = amount.split('.')
  return [
    `<h1 ${styled('ink', 'balance', 'margin:0;font-weight:600;letter-spacing:-0.025em')}>${dollars}` +
      `<span class="ink3" style="color:${light('ink3')}">.${cents}</span></h1>`,
    `<p ${styled('ink', 'lead', 'margin:4px 0 24px;font-weight:600')}>${words(says)}</p>`,
  ].join('\n')
}

const paragraph = (text: string) => `<p ${styled('ink', 'lead', 'margin:0 0 16px')}>${words(text)}</p>`

function table(facts: NonNullable<Letter['facts']>): string {
  const border = `border-top:1px solid ${light('line')};vertical-align:top;text-align:left`
  const rows = facts.map(
    ([label, value]) =>
      `<tr><th scope="row" ${styled('ink3', 'section', `${border};padding:8px 24px 8px 0;font-weight:400;white-space:nowrap;width:1%`, ' line')}>` +
      `${words(label)}</th><td ${styled('ink', 'section', `${border};padding:8px 0;font-weight:500`, ' line')}>` +
      `${words(value)}</td></tr>`,
  )
  return `<table style="width:100%;margin:24px 0;border-collapse:collapse;border-spacing:0">${rows.join('\n')}</table>`
}

/** The address stands beside the button, so that a person sees where it leads before they open it. */
function button({ says, label, url }: NonNullable<Letter['action']>): string {
  assert(/^https?:\/\//.test(url), 'a mail links to a page')
  const style = `display:inline-block;padding:10px 20px;border-radius:6px;background:${light('ink')};font-weight:600;text-decoration:none`
  const [sizePx, linePx] = textSizes.section
  return [
    paragraph(says),
    `<p style="margin:24px 0 8px"><a class="button" href="${escaped(url)}" style="${style};font-size:${sizePx}px;line-height:${linePx}px;` +
      `color:${light('canvas')}">${escaped(label)}</a></p>`,
    `<p ${styled('ink3', 'meta', 'margin:0 0 16px;word-break:break-all')}>${escaped(url)}</p>`,
  ].join('\n')
}

function small(footer: readonly string[]): string {
  const lines = footer.map((text) => `<p ${styled('ink2', 'body', 'margin:0 0 8px')}>${words(text)}</p>`)
  return `<div class="line" style="margin-top:32px;padding-top:16px;border-top:1px solid ${light('line')}">${lines.join('\n')}</div>`
}

/** Text of any origin as HTML. */
const words = (text: string) =>
  partsOf(text)
    .map(({ part, isIsolated }) => (isIsolated ? `<bdi>${escaped(part)}</bdi>` : escaped(part)))
    .join('')

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
