package conversation

const hostileSum = "00000000"

var hostileTools = map[string]func(h *hostile, m hostileMessage, s *hostileScene){}
