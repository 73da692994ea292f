/** Names and addresses of this machine; a connection to one does not leave it. */
export function isLocalHost(host: string): boolean {
  return host === '' || host.startsWith('/') || /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host)
}
