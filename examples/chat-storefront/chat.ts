/** What the storefront needs of a chat. Terminal is one; a bot for Discord or Telegram is another class with these four. */
export interface Chat {
  /** Part of the idempotency keys, so it must never change: `discord`, `telegram`. */
  readonly name: string
  /** In the order they were written. A message that the chat delivers twice has the same id both times. */
  messages(): AsyncIterable<Message>
  /** Answers in the public channel of the message. */
  reply(message: Message, text: string): Promise<void>
  /** Sends a private message. Rejects when it cannot be delivered. */
  whisper(user: string, text: string): Promise<void>
}

export interface Message {
  /** Unique in this chat for ever. Letters, digits, `.`, `_`, `:` and `-`, up to 80: it becomes part of a key. */
  readonly id: string
  readonly user: string
  readonly text: string
}
