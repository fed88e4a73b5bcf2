package meter

import (
	"context"
	"time"

	"weft/internal/verbs"
	"weft/internal/watch/local"
)

// look reads what weft watch follows. Files stay open from one look to the next.
func (s *server) look(context.Context, Ask) (Answer, error) {
	s.mu.Lock()
	if s.eye == nil {
		s.eye = local.New(s.root)
		s.eye.MTU = func(device string, port int) (int, bool) {
			lib, err := s.library()
			if err != nil {
				return 0, false
			}
			return MTU(lib, device, port)
		}
	}
	eye := s.eye
	s.mu.Unlock()
	return Answer{Look: eye.Look(time.Now())}, nil
}

func (s *server) closeEye() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.eye != nil {
		s.eye.Close()
		s.eye = nil
	}
}

// MTU is the packet size in force of a port.
func MTU(lib *verbs.Lib, device string, port int) (int, bool) {
	d, err := lib.Open(device, port)
	if err != nil {
		return 0, false
	}
	defer d.Close()
	return d.MTU(), d.MTU() > 0
}
