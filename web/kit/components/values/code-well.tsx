import { Tabs } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import { preferences, usePreferences } from '#lib/preferences.ts'
import classes from './code-well.module.css'
import { CopyButton } from './copy-button.tsx'

export type Language = 'ts' | 'sh' | 'env' | 'json' | 'http' | 'text'

interface CodeWellProps {
  readonly code: string
  readonly language?: Language
  /** For the name of the copy button: "Copy snippet". */
  readonly what?: string
  /** Copies this instead: what is shown may be masked or shortened. */
  readonly copies?: string
  readonly canCopy?: boolean
  readonly heightMax?: number
}

/** Code to read and to copy, never to edit. */
export function CodeWell({
  code,
  language = 'text',
  what = 'snippet',
  copies,
  canCopy = true,
  heightMax,
}: CodeWellProps) {
  return (
    <div className={classes.well}>
      {/* long lines scroll, and a scrolling region must be reachable by keyboard */}
      <pre className={classes.code} tabIndex={0} style={heightMax ? { maxHeight: heightMax } : undefined}>
        <code>{paint(code, language)}</code>
      </pre>
      {canCopy ? <CopyButton text={copies ?? code} what={what} className={classes.copy} /> : null}
    </div>
  )
}

export interface Snippet extends CodeWellProps {
  readonly name: string
}

/** The same thing in several languages. The choice is kept. */
export function SnippetTabs({
  snippets,
  label,
}: {
  readonly snippets: readonly Snippet[]
  readonly label: string
}) {
  const { snippet } = usePreferences()
  const chosen = snippets.some(({ name }) => name === snippet) ? snippet : (snippets[0]?.name ?? '')
  return (
    <Tabs
      value={chosen}
      onChange={(name) => name && preferences.set({ snippet: name })}
      classNames={{ tab: classes.tab ?? '' }}
    >
      <Tabs.List aria-label={label}>
        {snippets.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ name, ...rest }) => (
        <Tabs.Panel key={name} value={name} pt="sm">
          <CodeWell {...rest} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

/** Comments, strings, words of the language. Enough to scan a snippet; not a parser. */
const patterns: Partial<Record<Language, RegExp>> = {
  ts: /(?<quiet>\/\/.*)|(?<string>'[^'\n]*'|"[^"\n]*"|`[^`]*`)|(?<word>\b(?:import|from|const|let|await|async|new|return|export|function|if|else|for|of|throw|try|catch)\b)/g,
  sh: /(?<quiet>(?:^|\s)#.*)|(?<string>'[^']*'|"[^"]*")|(?<word>(?:^|(?<=\n))(?:curl|npx|npm|shopwire|export)\b)/g,
  env: /(?<quiet>#.*)|(?<word>^[A-Z_][A-Z0-9_]*(?==))|(?<string>(?<==).+$)/gm,
  json: /(?<word>"[^"\n]*"(?=\s*:))|(?<string>"(?:[^"\\\n]|\\.)*")/g,
  http: /(?<quiet>^[\w-]+:)|(?<bad>(?<=HTTP\/[\d.]+ )[345]\d\d.*$)|(?<string>(?<=HTTP\/[\d.]+ )2\d\d.*$)/gm,
}

function paint(code: string, language: Language): ReactNode {
  const pattern = patterns[language]
  if (!pattern) return code
  const parts: ReactNode[] = []
  let at = 0
  for (const match of code.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? ''
    parts.push(<Fragment key={at}>{code.slice(at, match.index)}</Fragment>)
    parts.push(
      <span key={`${match.index}-${kind}`} data-kind={kind}>
        {match[0]}
      </span>,
    )
    at = match.index + match[0].length
  }
  parts.push(code.slice(at))
  return parts
}
