import { UsageError } from '../trouble.ts'

/** Saved headers: `Name: value` lines (also those of curl -v), or a JSON object. */
export function parseHeaders(text: string): Record<string, string> {
  return text.trimStart().startsWith('{') ? fromJson(text) : fromLines(text)
}

function fromLines(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).map((line) => /^[<>*]?\s*([\w-]+)\s*:\s*(.*?)\s*$/.exec(line))
  return Object.fromEntries(lines.flatMap((match) => (match?.[1] ? [[match[1], match[2] ?? '']] : [])))
}

function fromJson(text: string): Record<string, string> {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>)
    return Object.fromEntries(entries.map(([name, value]) => [name, String([value].flat().join(', '))]))
  } catch {
    throw new UsageError(
      'The headers begin like JSON but are not valid JSON.',
      'Give `Name: value` lines, or a JSON object.',
    )
  }
}
