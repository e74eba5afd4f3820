package main

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// loudest is the most that --zap-log-level can ask for. From 7 on the Kubernetes client logs headers, from 8 on bodies, and with them every
// Secret that we read.
const loudest = 6

// newLogger logs as the flags say, up to loudest.
func newLogger(o zap.Options) logr.Logger {
	return zap.New(zap.UseFlagOptions(&o), func(o *zap.Options) {
		if o.Level != nil {
			o.Level = discreet{o.Level}
		}
	})
}

// discreet enables what its inner one does, up to loudest.
type discreet struct{ zapcore.LevelEnabler }

// Enabled is part of zapcore.LevelEnabler, where louder is lower.
func (d discreet) Enabled(l zapcore.Level) bool { return l >= -loudest && d.LevelEnabler.Enabled(l) }
