/** Every address inside the dashboard, so that a screen never spells another one's. */
export const paths = {
  home: '/',
  orders: '/orders',
  order: (id: string) => `/orders/${id}`,
  balance: '/balance',
  /** The statement of its month, with this entry first. */
  transfer: (id: string, at: string) =>
    `/balance?month=${at.slice(0, 7)}&before=${Number(id.slice('tr_'.length)) + 1}&open=${id}`,
  topUp: '/balance/top-up',
  catalogue: '/catalogue',
  item: (id: string) => `/catalogue?q=${id}`,
  keys: '/keys',
  key: (id: string) => `/keys?open=${id}`,
  webhook: '/webhook',
  deliveries: '/deliveries',
  delivery: (id: string) => `/deliveries?open=${id}`,
  team: '/team',
  security: '/security',
  audit: '/audit',
  auditOf: (target: string) => `/audit?target=${encodeURIComponent(target)}`,
  settings: '/settings',
  signIn: '/sign-in',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  confirmAlerts: '/confirm-alerts',
  invitation: '/invitation',
} as const
