package meter

import (
	"context"
	"time"

	"weft/internal/watch/local"
)

// look reads what weft watch follows. Files stay open from one look to the next.
func (s *server) look(context.Context, Ask) (Answer, error) {
	s.mu.Lock()
	if s.eye == nil {
		s.eye = local.New(s.root)
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
