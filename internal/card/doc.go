// Package card reads agent cards: untrusted bytes in, claims and interfaces out.
//
//	c, err := card.Parse(body, page.FinalURL)         // err: not a JSON object, nothing else
//	list, why := c.Usable(card.Preference{})          // interfaces that we can speak, best first
//	claims := c.Claims(list[0])                       // what the card claims for a client of that interface
//
// Trade-offs made on purpose:
//
//   - One odd member never loses the card. Every member is parsed by itself; what cannot be read becomes a Warning and
//     counts as not said. Only bytes that are no JSON object are an error.
//   - The generation of an interface comes from its protocolVersion and from nothing else. Cards of several generations
//     at once exist, so which top-level members are there says nothing.
//   - The digest is of the claims and not of the bytes: signed cards differ at every fetch and mean the same.
//   - A card is hostile. No string of it leaves this package unless it fits a narrow alphabet (Safe), is a media type,
//     or is part of a URL that was parsed and checked. Tenant is the exception: it is echoed to the peer and must go
//     nowhere else.
//   - The package neither dials nor fetches; whether an origin may be asked is the prober's business.
package card
