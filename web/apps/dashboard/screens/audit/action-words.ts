/** `key.create` → "Create key": an action reads like the button that does it. Unknown ones are still readable. */
export function actionWords(action: string): string {
  const known = ACTIONS[action]
  if (known) return known
  const [area = '', verb = ''] = action.split('.')
  const words = `${verb} ${area}`.replaceAll('_', ' ').replaceAll('-', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const ACTIONS: Readonly<Record<string, string>> = {
  'key.create': 'Create key',
  'key.rename': 'Rename key',
  'key.rotate': 'Rotate key',
  'key.revoke': 'Revoke key',
  'token.create': 'Create personal token',
  'token.revoke': 'Revoke personal token',
  'order.reveal_link': 'Reveal link',
  'order.reveal_links': 'Reveal links',
  'order.cancel': 'Cancel order',
  'webhook.set': 'Change endpoint',
  'webhook.stop': 'Stop webhook',
  'webhook.test': 'Send test event',
  'webhook.rotate_secret': 'Rotate webhook secret',
  'webhook.end_previous_secret': 'End previous webhook secret',
  'webhook.resend': 'Resend event',
  'webhook.recover': 'Recover events',
  'balance.set_alert': 'Change low-balance alert',
  'balance.add_alert_address': 'Add address for low-balance mail',
  'balance.remove_alert_address': 'Remove address from low-balance mail',
  'balance.start_top_up': 'Start top-up',
  'top_up.confirm': 'Confirm top-up',
  'top_up.reject': 'Reject top-up',
  'team.invite': 'Invite person',
  'team.withdraw_invitation': 'Withdraw invitation',
  'team.join': 'Join account',
  'team.change_role': 'Change role',
  'team.remove': 'Remove person',
  'team.leave': 'Leave account',
  'account.rename': 'Rename account',
  'session.start': 'Sign in',
  'session.end': 'Sign out',
  'session.end_all': 'Sign out everywhere',
  'session.step_up': 'Confirm second factor',
  'password.change': 'Change password',
  'password.reset': 'Reset password',
  'passkey.add': 'Add passkey',
  'passkey.rename': 'Rename passkey',
  'passkey.remove': 'Remove passkey',
  'totp.add': 'Set up authenticator app',
  'totp.remove': 'Remove authenticator app',
  'recovery_codes.renew': 'Make new recovery codes',
  'email.verify': 'Confirm e-mail',
  'person.rename': 'Change own name',
}
