import { createInterface } from 'node:readline/promises'

/** Whether a person can answer a prompt. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Only `y` and `yes` count as yes. Asks on stderr, so that stdout has only the result. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(`${question} [y/N] `)).trim())
}

export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    // Ctrl-D and Ctrl-C close the prompt without an answer.
    lines.once('SIGINT', () => lines.close())
    return await Promise.race([lines.question(question), closed])
  } finally {
    lines.close()
  }
}

/** Reads a secret without echoing it. */
export function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  // Echo is turned off before the question appears, or text pasted at once would be shown.
  stdin.setRawMode(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve) => {
    let text = ''
    const finish = (value: string) => {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      resolve(value)
    }
    const onData = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n') return finish(text)
        if (char === '\x03' || char === '\x04') return finish('')
        text = char === '\x7f' || char === '\b' ? text.slice(0, -1) : text + char
      }
    }
    stdin.on('data', onData)
  })
}

export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
