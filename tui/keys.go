package tui

import (
	"codeagent/tui/form"
	"codeagent/tui/keys"
	"codeagent/tui/question"
)

func formKeys(t *keys.Table) form.Keys {
	return form.Keys{
		Arm: t.Name(keys.Everywhere, keys.Arm), Next: t.Name(keys.InForm, keys.Send), Back: t.Name(keys.Everywhere, keys.Back),
		Page: t.Name(keys.Everywhere, keys.PageDown),
	}
}

func questionKeys(t *keys.Table) question.Keys {
	return question.Keys{
		Arm: t.Name(keys.Everywhere, keys.Arm), All: t.Name(keys.Everywhere, keys.Toggle), Note: t.Name(keys.InQuestion, keys.Note),
		Next: t.Name(keys.Everywhere, keys.PageDown),
		Rule: question.RuleKeys{Save: t.Name(keys.InRule, keys.Send), Scope: t.Name(keys.InRule, keys.RuleScope), Expiry: t.Name(keys.InRule, keys.RuleExpiry), Back: t.Name(keys.InRule, keys.Back)},
	}
}
