# The operator and the agentpeer command, static, on an image without a shell. `make docker-build` calls it.
#
# For a release, pin both images by digest, as in golang:1.27.3@sha256:..., with the digests of the day: a tag can be moved,
# and they are not written here because they would age unseen. What is built does not depend on the first image beyond its
# Go release (make reproduce); what runs beside it depends on the second.
FROM golang:1.27.3 AS build
WORKDIR /src
ENV GOTOOLCHAIN=local
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=dev
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH hack/build.sh /out $VERSION

FROM gcr.io/distroless/static:nonroot
COPY --from=build /out/manager /out/agentpeer /
USER 65532:65532
ENTRYPOINT ["/manager"]
