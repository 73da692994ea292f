/** What the storefront needs of a chat. Terminal is one; a bot for Discord or Telegram is another class with these four. */
export interface Chat {
  /** Goes into idempotency keys, so it never changes: `discord`, `telegram`. */
  readonly name: string
  /** In the order they were written. One that the chat delivers twice has the same id both times. */
  messages(): AsyncIterable<Message>
  /** Where the message was written; others may read along. */
  reply(message: Message, text: string): Promise<void>
  /** To that person alone. Rejects when it cannot be delivered. */
  whisper(user: string, text: string): Promise<void>
}

export interface Message {
  /** Unique in this chat for ever. Letters, digits, `.`, `_`, `:` and `-`, up to 80: it becomes part of a key. */
  readonly id: string
  readonly user: string
  readonly text: string
}
